"""Partition priors as tables of log tau1(j) and log tau2(n), and the resampling of their hyperparameters.

    tau(c) ∝ tau1(|c|) prod_{b in c} tau2(|b|)                                     (paper, Equation 3)

Compiled code sees only these two tables of a prior. Every prior except a user's own also has its normalising constant.
The conditional distribution of the hyperparameters given a partition is proportional to the partition's exact
probability times their prior. It is sampled with an auxiliary variable (Dirichlet process) or by slice sampling (the
others).

The paper leaves out factors of tau1 and tau2 that are constant per block, and k0!/(k0 - j)! of the finite Dirichlet. As
partitions differ in their number of blocks, these matter; the forms here are complete.
"""

import math
from collections.abc import Callable
from typing import Any

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.priors.common import check_concentration, check_discount, log_gamma_density
from pyclone_pgsm.priors.contract import Prior as Prior
from pyclone_pgsm.priors.custom import CustomPrior as CustomPrior
from pyclone_pgsm.priors.custom import tabulated_prior
from pyclone_pgsm.priors.dirichlet_process import DirichletProcess as DirichletProcess
from pyclone_pgsm.priors.finite_dirichlet import FiniteDirichlet as FiniteDirichlet
from pyclone_pgsm.priors.pitman_yor import PitmanYor as PitmanYor
from pyclone_pgsm.ranges import Effects, check_choice, check_effects, check_range

REGISTRY: dict[str, Callable[..., Prior]] = {
    DirichletProcess.name: DirichletProcess,
    PitmanYor.name: PitmanYor,
    FiniteDirichlet.name: FiniteDirichlet,
    CustomPrior.name: tabulated_prior,
}
"""Functions that make the prior of each name from the fields that :meth:`Prior.to_dict` stored."""
MOST_COMPONENTS = 10**9
PRIORS = ("dp", "pitman-yor", "finite")
EFFECTS: Effects = {"discount": ("prior", ("pitman-yor",)), "max_clusters": ("prior", ("finite",))}
"""Options of one kind of prior."""
LEAST_GAMMA, MOST_GAMMA = 1e-9, 1e9


def prior_from_dict(stored: dict[str, Any]) -> Prior:
    """Recreate the prior that :meth:`Prior.to_dict` stored, a custom one for that number of observations."""
    fields = dict(stored)
    name = str(fields.pop("name", None))
    if name not in REGISTRY:
        raise UsageError(f"{name!r} is not a partition prior")
    try:
        return REGISTRY[name](**fields)
    except TypeError:
        raise UsageError(f"not a partition prior of the kind {name!r}: {fields}") from None


def make_prior(
    name: str = "dp",
    concentration: float | None = None,
    concentration_prior: str | tuple[float, float] | None = "1,1",
    discount: float | None = None,
    max_clusters: int | None = None,
) -> Prior:
    """Make the prior described by the command line's options. Error messages name the options.

    Parameters
    ----------
    name : {"dp", "pitman-yor", "finite"}
    concentration : float or None
        Its value, or its starting value if it is resampled; None: 1.
    concentration_prior : str, (float, float) or None
        Shape and rate of the Gamma prior, also as text "1,1"; "fixed" or None: the concentration is fixed.
    discount : float or None
        Fixed value of the Pitman-Yor discount; None: it is resampled, starting from the middle of its range.
    max_clusters : int or None
        Number of components of the finite prior.

    Raises
    ------
    UsageError
        A value is out of range, or an option does not apply to the prior.
    """
    check_choice("prior", name, PRIORS)
    options = {"prior": name, "discount": discount, "max_clusters": max_clusters}
    check_effects([name for name, value in options.items() if value is not None], options, EFFECTS)
    discount = None if discount is None else check_discount(discount)
    shape, rate = _parse_concentration_prior(concentration_prior)
    alpha = 1.0 if concentration is None else concentration
    lowest = 0.0
    if name == "pitman-yor" and shape is None:
        lowest = -1.0 if discount is None else -discount
    alpha = check_concentration(alpha, lowest)
    if not math.isfinite(log_gamma_density(alpha, shape, rate)):
        raise UsageError(
            f"`concentration_prior` {shape:g},{rate:g}: its log density at the `concentration` {alpha}, where "
            "chains start, is not finite"
        )
    if name == "dp":
        return DirichletProcess(alpha, shape, rate)
    if name == "pitman-yor":
        start = (1.0 + max(0.0, -alpha)) / 2 if discount is None else discount
        return PitmanYor(alpha, start, shape, rate, discount is None)
    if max_clusters is None:
        raise UsageError("`prior` finite: needs `max_clusters`, the largest number of clusters")
    reason = "with more components use `prior` dp, which is practically the same"
    max_clusters = check_range("max_clusters", max_clusters, 1, MOST_COMPONENTS, reason)
    return FiniteDirichlet(max_clusters, alpha, shape, rate)


def _parse_concentration_prior(
    given: str | tuple[float, float] | None,
) -> tuple[float, float] | tuple[None, None]:
    if given is None or (isinstance(given, str) and given == "fixed"):
        return None, None
    try:
        shape, rate = map(float, given.split(",") if isinstance(given, str) else given)
    except (TypeError, ValueError, OverflowError):
        shape = rate = math.nan
    if not (LEAST_GAMMA <= shape <= MOST_GAMMA and LEAST_GAMMA <= rate <= MOST_GAMMA):
        raise UsageError(
            f"`concentration_prior` {given!r}: must be 'fixed' or the shape and rate of a Gamma prior, like 1,0.1, "
            f"both between {LEAST_GAMMA:g} and {MOST_GAMMA:g}: outside this range the prior fixes the concentration "
            "or puts all its mass at 0"
        )
    return shape, rate
