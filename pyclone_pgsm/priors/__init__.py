"""Partition priors as tables of log tau1(j) and log tau2(n), and the resampling of their hyperparameters.

    tau(c) ∝ tau1(|c|) prod_{b in c} tau2(|b|)                                     (paper, Equation 3)

Compiled code sees only these two tables of a prior. Every prior except a user's own also has its normalising constant.
The conditional distribution of the hyperparameters given a partition is proportional to the partition's exact
probability times their prior. It is sampled with an auxiliary variable (Dirichlet process) or by slice sampling (the
others).

The paper leaves out factors of tau1 and tau2 that are constant per block, and k0!/(k0 - j)! of the finite Dirichlet. As
partitions differ in their number of blocks, these matter; the forms here are complete.
"""

from collections.abc import Callable
from typing import Any

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.priors.contract import Prior as Prior
from pyclone_pgsm.priors.custom import CustomPrior as CustomPrior
from pyclone_pgsm.priors.custom import tabulated_prior
from pyclone_pgsm.priors.dirichlet_process import DirichletProcess as DirichletProcess
from pyclone_pgsm.priors.finite_dirichlet import FiniteDirichlet as FiniteDirichlet
from pyclone_pgsm.priors.making import make_prior as make_prior
from pyclone_pgsm.priors.pitman_yor import PitmanYor as PitmanYor

REGISTRY: dict[str, Callable[..., Prior]] = {
    DirichletProcess.name: DirichletProcess,
    PitmanYor.name: PitmanYor,
    FiniteDirichlet.name: FiniteDirichlet,
    CustomPrior.name: tabulated_prior,
}
"""Functions that make the prior of each name from the fields that :meth:`Prior.to_dict` stored."""


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
