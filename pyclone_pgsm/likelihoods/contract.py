"""The interface of a likelihood, and how it is compiled.

A likelihood is a ``NamedTuple`` of arrays (the data) with a few plain-Python methods. The sampler represents a block
only by its *statistic*: a flat row of float64 that only the likelihood interprets. The methods are compiled into the
sampler's kernels by one generic ``overload_method`` (below) and run unchanged in pure Python under
``NUMBA_DISABLE_JIT=1``. They may call module-level functions decorated with ``numba.njit``; otherwise they may only use
what numba can compile.

=================================================  =============================================================
method                                             meaning
=================================================  =============================================================
``stat_size(self)``                                length of a statistic
``clear(self, stat)``                              statistic of the empty block
``add(self, stat, i)``                             add observation i to the block
``remove(self, stat, i)``                          remove observation i from the block
``add_many(self, stat, members)``                  add all of ``members`` (int64) to the block
``log_prior_predictive(self, i)``                  log L(y_i), the observation in a block of its own
``log_predictive(self, stat, i, negligible)``      log L(y_i | y_b); if the value is below `negligible`, any number
                                                   below `negligible` may be returned
``log_predictive_without(self, stat, i)``          log L(y_i | y_b without y_i), for i in b
``log_marginal(self, stat)``                       log L(y_b)
``log_predictives(self, stats, slots, i,``         optional, for speed: set out[b] = log L(y_i | block ``slots[b]``)
``negligible, out)``                               for all b, where ``stats[slots[b]]`` is the block's statistic and
                                                   ``negligible[b]`` its limit. By default a loop
``kind(self, i)``                                  optional, for speed: a number, at least 0, that only observations
                                                   with equal data share; by default i
``log_predictive_new(self, stat, x)``              optional, for held-out data and densities: log L(x | y_b) of a new
                                                   observation x, (D,) float64, with all its factors; for an empty
                                                   block its prior predictive
=================================================  =============================================================

All methods except ``log_predictive_new`` may omit factors that depend on a single observation only, provided that all
of them do (these factors cancel in every choice between partitions). ``log_constant(self)``, called from Python only,
returns the sum over all observations of the logs of the omitted factors, 0.0 if there are none. (PyClone's
``log_constants(self)`` returns them one by one, as they depend on hyperparameters that a chain resamples.)

Other methods are called from Python only, and are also optional:

``from_data(cls, data, **parameters)``
    Class method: make the likelihood of a (T, D) float64 matrix; without it a class cannot be used on the command line.
    The parameters are numbers, or arrays given as nested lists; one without a default must be given. Raises
    :class:`~pyclone_pgsm.errors.DataValueError` for a value of the data that the likelihood does not allow, and
    :class:`~pyclone_pgsm.errors.UsageError` for a parameter that it does not allow.
``cluster_parameters(self, stat)``
    Posterior of the block's parameters: a dict of arrays, by name, of the same shapes for all blocks. ``NAME_sd`` is
    the posterior standard deviation of ``NAME``.
``choices(cls, data, **given)``
    Class method: the parameters of ``from_data`` that can be inferred with the partition, given the others: a dict that
    maps each name to the values and their prior (a :class:`~pyclone_pgsm.likelihoods.choice.Choice`). A parameter is
    inferred if the user sets it to ``infer``.
``defaults_for(cls, data, given)``
    Class method: values of parameters for these data where the defaults of ``from_data`` would not do, unless the user
    sets them (`given` is a mapping).
``inferred_by_default(cls, data, given)``
    Class method: names of the parameters that are inferred unless the user sets them (`given` is a mapping).
``doubts(cls, data, parameters)``
    Class method: warnings, a sentence each, about the clusters of these data with these parameters.
``doubts_of_clusters(cls, data, labels)``
    Class method: warnings, a sentence each, about these clusters of the rows: labels 0, 1, .. (T,), -1 for none.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, types
from numba.extending import overload_method

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.jit.compiling import ALLOCATING, INNER, inner

Method = TypeVar("Method", bound=Callable[..., Any])

METHODS: dict[str, tuple[str, ...]] = {
    "stat_size": ("self",),
    "clear": ("self", "stat"),
    "add": ("self", "stat", "i"),
    "remove": ("self", "stat", "i"),
    "add_many": ("self", "stat", "members"),
    "log_prior_predictive": ("self", "i"),
    "log_predictive": ("self", "stat", "i", "negligible"),
    "log_predictive_without": ("self", "stat", "i"),
    "log_marginal": ("self", "stat"),
    "log_predictives": ("self", "stats", "slots", "i", "negligible", "out"),
    "kind": ("self", "i"),
}
SD = "_sd"
"""Ending of the names of posterior standard deviations in ``cluster_parameters``."""
OTHER_COLUMNS = ("cluster_id", "dimension", "size")
"""Columns that the table of clusters has beside those of ``cluster_parameters``."""
CLASS_METHODS = (
    "from_data",
    "choices",
    "defaults_for",
    "inferred_by_default",
    "doubts",
    "doubts_of_clusters",
)
OPTIONAL_METHODS: dict[str, tuple[str, ...]] = {"log_predictive_new": ("self", "stat", "x")}


def leaf(method: Method) -> Method:
    """Mark a method that neither creates arrays nor calls functions that do: it runs without counting references.

    This pays if a call takes less than a microsecond (see :data:`~pyclone_pgsm.jit.compiling.LEAF`).
    """
    method.leaf = True  # type: ignore[attr-defined]
    return method


@leaf
def _log_predictives(self, stats, slots, i, negligible, out):  # type: ignore[no-untyped-def]
    """Default of the optional method."""
    for b in range(len(slots)):
        out[b] = self.log_predictive(stats[slots[b]], i, negligible[b])


@leaf
def _kind(self, i):  # type: ignore[no-untyped-def]
    """Default of the optional method."""
    return i


DEFAULTS = {
    "log_predictives": _log_predictives,
    "kind": _kind,
}
REGISTRY: dict[str, type] = {}


def _make_available(name: str, arguments: tuple[str, ...]) -> None:
    """Let compiled code call the method `name` of any NamedTuple class by compiling the class's own function."""
    # numba requires the overload, and the function it returns, to have exactly the arguments of the method.
    listed = ", ".join(arguments)

    def find_method(self: Any, *_: Any) -> Callable[..., Any] | None:
        method = getattr(self.instance_class, name, None)
        if method is None or getattr(method, "leaf", False):
            return method
        namespace: dict[str, Any] = {"method": inner(**ALLOCATING)(method)}
        exec(f"def call({listed}):\n    return method({listed})", namespace)
        return namespace["call"]

    namespace: dict[str, Any] = {"find_method": find_method}
    exec(f"def overload({listed}):\n    return find_method({listed})", namespace)
    overload_method(types.BaseNamedTuple, name, jit_options=INNER)(namespace["overload"])


if not config.DISABLE_JIT:
    for _name, _arguments in {**METHODS, **OPTIONAL_METHODS}.items():
        _make_available(_name, _arguments)


def check_contract(likelihood: type) -> None:
    """Check that a class fulfils the contract.

    The message of the UsageError names every method that is missing (optional ones may be) or has other arguments than
    those of the contract.
    """
    problems = []
    if not (issubclass(likelihood, tuple) and hasattr(likelihood, "_fields")):
        problems.append("it must be a typing.NamedTuple of arrays and numbers")
    for name, arguments in {**METHODS, "log_constant": ("self",), **OPTIONAL_METHODS}.items():
        if name in OPTIONAL_METHODS and not hasattr(likelihood, name):
            continue
        method = getattr(likelihood, name, None)
        expected = f"{name}({', '.join(arguments)})"
        if not callable(method):
            problems.append(f"the method {expected} is missing")
        elif tuple(inspect.signature(method).parameters) != arguments:
            found = ", ".join(inspect.signature(method).parameters)
            problems.append(f"the method {name}({found}) must be {expected}")
    problems += [
        f"the method {name} must be a class method: write @classmethod above it"
        for name in CLASS_METHODS
        if inspect.isfunction(function := inspect.getattr_static(likelihood, name, None))
        and next(iter(inspect.signature(function).parameters), None) == "cls"
    ]
    if problems:
        name = likelihood.__qualname__.rpartition(".")[2]
        raise UsageError(f"{name} is not a likelihood: " + "; ".join(problems))


def register(name: str) -> Callable[[type], type]:
    """Class decorator: register a likelihood that fulfils the contract, under a name that no other class has."""

    def accept(likelihood: type) -> type:
        for name_of_default, default in DEFAULTS.items():
            if not hasattr(likelihood, name_of_default):
                setattr(likelihood, name_of_default, default)
        check_contract(likelihood)
        other = REGISTRY.get(name)
        if other is not None and other.__module__ != likelihood.__module__:
            raise UsageError(f"two likelihoods have the name {name!r}: {other} and {likelihood}")
        REGISTRY[name] = likelihood
        return likelihood

    return accept
