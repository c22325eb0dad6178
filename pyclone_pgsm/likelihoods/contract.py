"""What a likelihood must offer, and how it reaches compiled code.

A likelihood is a ``NamedTuple`` of arrays (the data) with a few plain-Python methods. The sampler sees a block only
through its *statistic*: a flat row of float64 that the likelihood alone understands. The methods are compiled into the
sampler's kernels by one generic ``overload_method`` (below) and run unchanged in pure Python under
``NUMBA_DISABLE_JIT=1``; they may call module-level functions decorated with ``numba.njit`` and use nothing else that
numba cannot compile.

=================================================  =============================================================
method                                             meaning
=================================================  =============================================================
``stat_size(self)``                                length of a statistic
``clear(self, stat)``                              statistic of the empty block
``add(self, stat, i)``                             put observation i into the block
``remove(self, stat, i)``                          take observation i out of the block
``add_many(self, stat, members)``                  put all of ``members`` (int64) into the block
``log_prior_predictive(self, i)``                  log L(y_i), the observation in a block of its own
``log_predictive(self, stat, i, negligible)``      log L(y_i | y_b); where the value is below `negligible`, any
                                                   number below `negligible` will do
``log_predictive_without(self, stat, i)``          log L(y_i | y_b without y_i), for i in b
``log_marginal(self, stat)``                       log L(y_b)
``log_predictives(self, stats, slots, i,``         optional, for speed: out[b] = log L(y_i | block ``slots[b]``), its
``negligible, out)``                               statistic ``stats[slots[b]]``, for all b; `negligible` is
                                                   an array, a value each. By default a loop
``kind(self, i)``                                  optional, for speed: a number from 0 on that only observations that
                                                   equal each other share; by default i
``log_predictive_new(self, stat, x)``              optional, for held-out data and densities: log L(x | y_b) of a new
                                                   observation x, (D,) float64, with all its factors; for an empty
                                                   block its prior predictive
=================================================  =============================================================

All but ``log_predictive_new`` may leave out factors that depend on a single observation only, as long as all do (they
cancel in every choice between partitions). ``log_constant(self)``, called from Python only, returns the sum of the logs
of what was left out over all observations, 0.0 if nothing was. (PyClone's ``log_constants(self)`` gives them one by
one, as they depend on hyperparameters that a chain resamples.)

Four more are called from Python only, and are optional too:

``from_data(cls, data, **parameters)``
    Class method: the likelihood of a (T, D) float64 matrix; without it a class has no use on the command line. The
    parameters have defaults and are numbers, or arrays given as nested lists. Raises
    :class:`~pyclone_pgsm.errors.DataValueError` for a value that the likelihood cannot take, and
    :class:`~pyclone_pgsm.errors.UsageError` for a parameter.
``cluster_parameters(self, stat)``
    Posterior of the block's parameters: a dict of arrays, by name.
``choices(cls, data, **given)``
    Class method: the parameters of ``from_data`` that can be inferred with the partition, given the others: by name,
    each with its values and their prior (a :class:`~pyclone_pgsm.likelihoods.choice.Choice`). Such a parameter is
    inferred if the user gives it the value ``infer``.
``inferred_by_default(cls, data, given)``
    Class method: names of those that are inferred unless the user gives them (a mapping).
"""

from __future__ import annotations

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
OPTIONAL_METHODS: dict[str, tuple[str, ...]] = {"log_predictive_new": ("self", "stat", "x")}


LEAST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9


def check_weight(name: str, value: float, above: float = 0.0) -> None:
    """Refuse the weight of a prior, in observations, that double precision cannot hold beside those of the data.

    Parameters
    ----------
    name : str
        Of the parameter.
    value : float
        Above `above`, where the parameter's range begins.

    Raises
    ------
    UsageError
    """
    if not LEAST_WEIGHT <= value - above <= LARGEST_WEIGHT:
        beyond = f"{above:g} + " if above else ""
        raise UsageError(
            f"{name} must be between {beyond}{LEAST_WEIGHT:g} and {beyond}{LARGEST_WEIGHT:g}, not {value!r}: beside "
            "the weight 1 of an observation, less is lost in rounding, and of more the logarithms lose their digits"
        )


def leaf(method: Method) -> Method:
    """Mark a method that makes no array, and calls nothing that does: it runs without counting references.

    Worth it where a call takes less than a microsecond (see :data:`~pyclone_pgsm.jit.compiling.LEAF`).
    """
    method.leaf = True  # type: ignore[attr-defined]
    return method


@leaf
def _log_predictives(self, stats, slots, i, negligible, out):  # type: ignore[no-untyped-def]
    """The default of the optional method."""
    for b in range(len(slots)):
        out[b] = self.log_predictive(stats[slots[b]], i, negligible[b])


@leaf
def _kind(self, i):  # type: ignore[no-untyped-def]
    """The default of the optional method."""
    return i


DEFAULTS = {
    "log_predictives": _log_predictives,
    "kind": _kind,
}
REGISTRY: dict[str, type] = {}


def _make_available(name: str, arguments: tuple[str, ...]) -> None:
    """Let compiled code call the method `name` of any NamedTuple class by compiling the class's own function."""
    # numba wants the overload, and what it returns, to have the very arguments of the method.
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
    """Refuse a class that does not keep the contract.

    Raises
    ------
    UsageError
        Names every method that is missing (the optional ones need not be there) or has other arguments than the
        contract's.
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
    if problems:
        name = likelihood.__qualname__.rpartition(".")[2]
        raise UsageError(f"{name} is not a likelihood: " + "; ".join(problems))


def register(name: str) -> Callable[[type], type]:
    """Class decorator: make a likelihood known under `name`.

    Raises
    ------
    UsageError
        The class does not keep the contract, or the name is taken by another class.
    """

    def accept(likelihood: type) -> type:
        for name_of_default, default in DEFAULTS.items():
            if not hasattr(likelihood, name_of_default):
                setattr(likelihood, name_of_default, default)
        check_contract(likelihood)
        other = REGISTRY.get(name)
        if other is not None and other.__module__ != likelihood.__module__:
            raise UsageError(f"two likelihoods want the name {name!r}: {other} and {likelihood}")
        REGISTRY[name] = likelihood
        return likelihood

    return accept
