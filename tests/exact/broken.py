"""Kernels with one fault each, made from the package's source: what the exactness tests must catch.

In the copied source a fault stands as ``(<wrong> if broken == k else <right>)`` and the function takes one more
argument `broken`, 0 for the sound kernel: so all faults are compiled at once.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
from one_step import make_steps

from pyclone_pgsm.samplers import gibbs, particle_gibbs
from pyclone_pgsm.samplers.partition import build_partition


@dataclass(frozen=True)
class Fault:
    """A text that stands once in the source, and what it becomes; BROKEN is true when the fault is switched on."""

    sound: str
    faulty: str

    def apply(self, source: str, number: int) -> str:
        assert source.count(self.sound) == 1, (
            f"{self.sound!r} stands {source.count(self.sound)} times in the source"
        )
        return source.replace(self.sound, self.faulty.replace("BROKEN", f"(broken == {number})"))


SPLIT_MERGE_FAULTS = {
    "annealing of n = |s| left out": Fault(
        "if annealed and n == 2:", "if annealed and n == 2 and not BROKEN:"
    ),
    "all copies of a particle go the same way": Fault(
        "joining = draw_binomial(rng, copies[p], p_likely)",
        "joining = draw_binomial(rng, 1 if BROKEN else copies[p], p_likely) * (copies[p] if BROKEN else 1)",
    ),
    "chosen particle drawn without multiplicities": Fault(
        "total += multiplicities[p] * math.exp(log_w[p] - best)",
        "total += (1 if BROKEN else multiplicities[p]) * math.exp(log_w[p] - best)",
    ),
    "conditioned path has no children but itself": Fault(
        "w[p] *= multiplicities[p]", "w[p] *= copies[p] if BROKEN else multiplicities[p]"
    ),
    "conditioned path lost at resampling": Fault(
        "ancestry[t - 1], num, reference)",
        "ancestry[t - 1], num, MERGED if BROKEN and num > 2 else reference)",
    ),
    "weights kept after resampling": Fault("log_w[:num] = 0.0", "log_w[:num] *= 1.0 if BROKEN else 0.0"),
    "tau2 left out of the merged particle's weight": Fault(
        "anneal_merged + log_tau2[t + 1] - log_tau2[t]",
        "anneal_merged + (0.0 if BROKEN else log_tau2[t + 1] - log_tau2[t])",
    ),
    "split annealed too slowly": Fault(
        "anneal_split = log_gamma2_split / max(n - 2, 1)",
        "anneal_split = log_gamma2_split / max(n - 2 + BROKEN, 1)",
    ),
    "path traced through the wrong parent": Fault(
        "ancestry[t, new_num] = 2 * p + choice", "ancestry[t, new_num] = 2 * (1 if BROKEN else p) + choice"
    ),
}

GIBBS_FAULTS = {
    "leave-one-out leaves nothing out": Fault(
        "likelihood.log_predictive_without(stats[own], i)",
        "(likelihood.log_predictive(stats[own], i, -np.inf) if BROKEN\n"
        "                else likelihood.log_predictive_without(stats[own], i))",
    ),
    "tau2 counts the observation itself": Fault(
        "own_log_p = log_tau2[size] - log_tau2[size - 1]",
        "size += BROKEN\n            own_log_p = log_tau2[size] - log_tau2[size - 1]",
    ),
    "lone observation counts its own block": Fault(
        "num_others = num_blocks - 1 if alone", "num_others = num_blocks - 1 + BROKEN if alone"
    ),
}


def with_faults(module: types.ModuleType, function: str, faults: dict[str, Fault]) -> Callable[..., Any]:
    """The function with one more argument at the end, `broken`: the number of the fault, counted from 1."""
    source = inspect.getsource(module)
    for number, fault in enumerate(faults.values(), 1):
        source = fault.apply(source, number)
    source = source.replace("DEAD = 1e-20", "DEAD = 0.95")
    signature = re.search(rf"def {function}\(.*\brng(?=\):)", source)
    assert signature is not None
    source = source.replace(signature[0], f"{signature[0]}, broken")
    namespace: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source, f"<{module.__name__} with faults>", "exec"), namespace)
    return numba.njit(nogil=True)(namespace[function])


@cache
def faulty_steps() -> Callable[..., Any]:
    """Like :func:`one_step.sound_steps`; a sweep and a move take the number of their fault besides, 0 for none."""
    return make_steps(
        numba.njit(nogil=True)(build_partition),
        with_faults(gibbs, "gibbs_sweep", GIBBS_FAULTS),
        with_faults(particle_gibbs, "split_merge", SPLIT_MERGE_FAULTS),
    )
