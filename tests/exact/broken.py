"""Kernels with one fault each, made from the package's source: what the exactness tests must catch.

In the copied source a fault stands as ``(<wrong> if abs(broken) == k else <right>)`` and the function takes one more
argument `broken`, 0 for the sound kernel: so all faults are compiled at once. If `broken` is negative, particle Gibbs
takes a kind of particle for dead at 0.95 of the other's weight, not at 1e-20.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from one_step import compile_inner, make_steps

from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.samplers import conditional_smc, gibbs, many_anchors, particles, resampling
from pyclone_pgsm.samplers import split_merge as split_merge_module

SOUND_BUT_SOON_DEAD = -1000


@dataclass(frozen=True)
class Fault:
    """A text that stands once in the source, and what it becomes; BROKEN is true when the fault is switched on."""

    sound: str
    faulty: str

    def apply(self, source: str, number: int) -> str:
        assert source.count(self.sound) == 1, (
            f"{self.sound!r} stands {source.count(self.sound)} times in the source"
        )
        return source.replace(self.sound, self.faulty.replace("BROKEN", f"(abs(broken) == {number})"))


SPLIT_MERGE_FAULTS = {
    "annealing of n = |s| left out": Fault(
        "if settings.annealed and len(path.sigma) == 2:",
        "if settings.annealed and len(path.sigma) == 2 and not BROKEN:",
    ),
    "all copies of a particle go the same way": Fault(
        "joining = draw_binomial(rng, free_copies[p], p_likely)",
        "joining = draw_binomial(rng, 1 if BROKEN else free_copies[p], p_likely) * (free_copies[p] if BROKEN else 1)",
    ),
    "chosen particle drawn without multiplicities": Fault(
        "total += all_copies[p] * w[p]", "total += (1 if BROKEN else all_copies[p]) * w[p]"
    ),
    "conditioned path has no children but itself": Fault(
        "w[p] *= all_copies[p]\n    resample(",
        "w[p] *= free_copies[p] if BROKEN else all_copies[p]\n    resample(",
    ),
    "conditioned path lost at resampling": Fault(
        "with_number(particles, alive, new_reference)",
        "with_number(particles, alive, MERGED if BROKEN and alive > 2 else new_reference)",
    ),
    "weights kept after resampling": Fault("log_w[p] = 0.0\n", "log_w[p] *= 1.0 if BROKEN else 0.0\n"),
    "tau2 left out of the merged particle's weight": Fault(
        "targets.anneal_merged + log_size_ratio(targets.log_tau2, t)",
        "targets.anneal_merged + (0.0 if BROKEN else log_size_ratio(targets.log_tau2, t))",
    ),
    "split annealed too slowly": Fault(
        "anneal_split = log_split / steps",
        "anneal_split = log_split / max(len(sigma) - 2 + BROKEN, 1)",
    ),
    "path traced through the wrong parent": Fault(
        "ancestry[new_num] = 2 * p + choice", "ancestry[new_num] = 2 * (1 if BROKEN else p) + choice"
    ),
    "points do not know of the conditioned path": Fault(
        "offset = point - own", "offset = offset if BROKEN else point - own"
    ),
    "stratum of the conditioned path has another point": Fault("if k == own:", "if k == own and not BROKEN:"),
    "conditioned path's stratum drawn without its weight": Fault(
        "own = min(int(point), total - 1)",
        "own = int(offset * total) if BROKEN else min(int(point), total - 1)",
    ),
    "conditioned path kept in addition": Fault(
        "drawn = reference if w[reference] > 0.0 else -1",
        "drawn = reference if w[reference] > 0.0 and not BROKEN else -1",
    ),
    "survivors keep a weight below c": Fault(
        "log_w[p] += math.log(bound / w[p])", "log_w[p] += 0.0 if BROKEN else math.log(bound / w[p])"
    ),
    "children weighed like their parent": Fault(
        "log_step = log_likely if choice == likely else log_other",
        "log_step = log_sum if BROKEN else log_likely if choice == likely else log_other",
    ),
    "split particles all start with the whole weight": Fault(
        "log_w[1] -= math.log(free_copies[1] + reference)",
        "log_w[1] -= 0.0 if BROKEN else math.log(free_copies[1] + reference)",
    ),
    "resampled split particles all have the whole weight": Fault(
        "log_w[p] = log_split - math.log(total)",
        "log_w[p] = log_split - (0.0 if BROKEN else math.log(total))",
    ),
    "kind that was not let go keeps its weight": Fault(
        "log_w[p] -= log_q", "log_w[p] -= 0.0 if BROKEN else log_q"
    ),
}

MANY_FAULTS = {
    "annealing of n = |s| left out": Fault(
        "if settings.annealed and n == s:", "if settings.annealed and n == s and not BROKEN:"
    ),
    "annealed too slowly": Fault("else 1.0 / (n - s)", "else 1.0 / (n - s + BROKEN)"),
    "tau1 of a further block left out": Fault(
        "log_join[fresh] + log_open[k]", "log_join[fresh] + (0.0 if BROKEN else log_open[k])"
    ),
    "annealed children of an anchor weighed by the target": Fault(
        "log_step[choice] = 0.0\n", "log_step[choice] *= 1.0 if BROKEN else 0.0\n"
    ),
    "conditioned path lost": Fault(
        "if on_path:\n                new_reference = new_num",
        "if on_path:\n                new_reference = 0 if BROKEN else new_num",
    ),
    "block of the conditioned path mistaken for another": Fault(
        "choice = number[partition.labels[i]]",
        "choice = (num_before - 1 - number[partition.labels[i]] if BROKEN and t >= s\n"
        "                  else number[partition.labels[i]])",
    ),
    "annealing lost at resampling": Fault(
        "particles.log_gamma[alive] = particles.log_gamma[p]",
        "particles.log_gamma[alive] = 0.0 if BROKEN else particles.log_gamma[p]",
    ),
}

GIBBS_FAULTS = {
    "leave-one-out leaves nothing out": Fault(
        "likelihood.log_predictive_without(stats[own], i)",
        "(likelihood.log_predictive(stats[own], i, -np.inf) if BROKEN\n"
        "                else likelihood.log_predictive_without(stats[own], i))",
    ),
    "tau2 counts the observation itself": Fault(
        "log_size_ratio(prior.log_tau2, sizes[own] - 1)",
        "log_size_ratio(prior.log_tau2, sizes[own] - 1 + BROKEN)",
    ),
    "lone observation counts its own block": Fault(
        "num_others = counter[0] - 1 if is_alone", "num_others = counter[0] - 1 + BROKEN if is_alone"
    ),
    "block that was left counts as before": Fault(
        "joining[own] = staying[own]", "joining[own] = joining[own] if BROKEN else staying[own]"
    ),
    "block that was joined counts as before": Fault(
        "flags[target] = STAYING", "flags[target] = flags[target] | STAYING if BROKEN else STAYING"
    ),
    "small weights count as none": Fault(
        "known.weight[slot] = bound", "known.weight[slot] = 0.0 if BROKEN else bound"
    ),
    "bounds count as weights": Fault(
        "keep_flags(partition, known, JOINING | STAYING)",
        "keep_flags(partition, known, JOINING | STAYING | BOUNDED if BROKEN else JOINING | STAYING)",
    ),
}


GIBBS_STEPS = ("visit_all", "start_visit", "choose_block", "predict_others", "move")


def with_faults(
    module: types.ModuleType,
    function: str,
    faults: dict[str, Fault],
    also: tuple[types.ModuleType, ...] = (),
    inner: tuple[str, ...] = (),
) -> Callable[..., Any]:
    """The function with one more argument at the end, `broken`: the number of the fault, counted from 1.

    `also` are modules that it imports from, to be copied as well; `inner` the functions it calls that have faults.
    """
    source = inspect.getsource(module)
    for other in also:
        source, count = re.subn(rf"from {re.escape(other.__name__)} import (\([^)]*\)|.*)\n", "", source)
        assert count > 0
        source = inspect.getsource(other) + source
    source = source.replace("from __future__ import annotations\n", "")
    for number, fault in enumerate(faults.values(), 1):
        source = fault.apply(source, number)
    source = re.sub(r"\bDEAD\b(?! =)", "(0.95 if broken < 0 else DEAD)", source)
    for name in inner:
        source = re.sub(rf"\b{name}\(", f"{name}(broken, ", source)
    signature = re.search(rf"def {function}\([^)]*\brng(?=\s*\):)", source)
    assert signature is not None
    source = source.replace(signature[0], f"{signature[0]}, broken")
    namespace: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source, f"<{module.__name__} with faults>", "exec"), namespace)
    faulty: Callable[..., Any] = compile_inner(namespace[function])
    return faulty


@compile_inner
def no_sweep(likelihood, prior, partition, order, rng):  # type: ignore[no-untyped-def]
    return partition, 0


@compile_inner
def no_move(  # type: ignore[no-untyped-def]
    likelihood, prior, partition, anchors, settings, one_merged, pool, rng
):
    return partition, 1, 1


@cache
def faulty_sweeps() -> Callable[..., Any]:
    """Like :func:`one_step.sound_steps`, without moves; a sweep takes the number of its fault besides, 0 for none."""
    build = compile_inner(build_partition)
    return make_steps(build, with_faults(gibbs, "gibbs_sweep", GIBBS_FAULTS, inner=GIBBS_STEPS), no_move)


@cache
def faulty_moves() -> Callable[..., Any]:
    """The same for the split-merge move, without sweeps."""
    inner = (
        "conditional_smc",
        "run_particles",
        "make_targets",
        "initialise",
        "resample_if_uneven",
        "resample_all",
        "resample_split",
        "russian_roulette",
        "one_kind_is_dead",
        "compact",
        "keep_num_particles",
        "extend_merged",
        "propose",
        "resample",
        "resample_stratified",
        "resample_optimal",
        "draw_particle",
    )
    build = compile_inner(build_partition)
    move = with_faults(
        split_merge_module, "split_merge", SPLIT_MERGE_FAULTS, (conditional_smc, particles, resampling), inner
    )
    return make_steps(build, no_sweep, move)


@cache
def faulty_moves_of_many() -> Callable[..., Any]:
    """The same for the split-merge move with many anchors."""
    build = compile_inner(build_partition)
    inner = ("propose", "weigh_choices", "compact", "resample_if_uneven")
    faulty = with_faults(many_anchors, "split_merge_many", MANY_FAULTS, inner=inner)

    @compile_inner
    def move(  # type: ignore[no-untyped-def]
        likelihood, prior, partition, anchors, settings, one_merged, pool, rng, broken
    ):
        return faulty(likelihood, prior, partition, anchors, settings, rng, broken)

    return make_steps(build, no_sweep, move)
