"""Kernels with one fault each, made from the package's source: what the exactness tests must catch.

In the copied source BROKEN becomes ``(abs(broken) == k)`` in fault number k, and the function takes one more argument
`broken`, 0 for the sound kernel: so all faults are compiled at once. If `broken` is negative, particle Gibbs
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
from pyclone_pgsm.samplers import conditional_smc, gibbs, particles, resampling
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
        "if targets.annealed and n == s:", "if targets.annealed and n == s and not BROKEN:"
    ),
    "annealed too slowly": Fault("1.0 / max(n - num_anchors, 1)", "1.0 / max(n - num_anchors + BROKEN, 1)"),
    "annealed children of an anchor weighed by the target": Fault(
        "            log_step = 0.0\n", "            log_step *= 1.0 if BROKEN else 0.0\n"
    ),
    "annealing lost at resampling": Fault(
        "particles.log_gamma[alive] = particles.log_gamma[p]",
        "particles.log_gamma[alive] = 0.0 if BROKEN else particles.log_gamma[p]",
    ),
    "tau1 of a further block left out": Fault(
        "pool.log_join[opened] + targets.log_open[k]",
        "pool.log_join[opened] + (0.0 if BROKEN else targets.log_open[k])",
    ),
    "tau2 left out of the merged particle's weight": Fault(
        "log_step = pool.log_join[particles.blocks[p, choice]]",
        "log_step = pool.log_join[particles.blocks[p, choice]]\n"
        "            if BROKEN and k == 1:\n"
        "                size = pool.sizes[particles.blocks[p, choice]]\n"
        "                log_step -= targets.log_tau2[size + 1] - targets.log_tau2[size]",
    ),
    "block of the conditioned path mistaken for another": Fault(
        "kept = likely if p == particles.reference else NONE",
        "kept = ((particles.num_blocks[p] - 1 - likely if BROKEN and opened == NONE else likely)\n"
        "                if p == particles.reference else NONE)",
    ),
    "conditioned path lost": Fault(
        "            if choice == kept:\n                new_reference = new_num",
        "            if choice == kept:\n                new_reference = 0 if BROKEN else new_num",
    ),
    "all copies of a particle go the same way": Fault(
        "resample_multinomial(rng, p, num, free_copies, copies)",
        "resample_multinomial(rng, p, num, min(free_copies, 1) if BROKEN else free_copies, copies)\n"
        "    for choice in range(num):\n"
        "        copies[choice] *= free_copies if BROKEN else 1",
    ),
    "chosen particle drawn without multiplicities": Fault(
        "total += all_copies[p] * w[p]", "total += (1 if BROKEN else all_copies[p]) * w[p]"
    ),
    "conditioned path has no children but itself": Fault(
        "        w[p] *= all_copies[p]\n        particles.log_w[p] = 0.0",
        "        w[p] *= particles.free_copies[p] if BROKEN else all_copies[p]\n        particles.log_w[p] = 0.0",
    ),
    "conditioned path lost at resampling": Fault(
        "with_number(particles, alive, new_reference)",
        "with_number(particles, alive, 0 if BROKEN and alive > 1 else new_reference)",
    ),
    "weights kept after resampling": Fault(
        "particles.log_w[p] = 0.0\n", "particles.log_w[p] *= 1.0 if BROKEN else 0.0\n"
    ),
    "path traced through the wrong parent": Fault(
        "particles.blocks.shape[1] * p + choice", "particles.blocks.shape[1] * (0 if BROKEN else p) + choice"
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
        "if scheme == OPTIMAL or (scheme == BOTH_KINDS and opened != NONE):\n",
        "if scheme == OPTIMAL or (scheme == BOTH_KINDS and opened != NONE):\n"
        "        if BROKEN:\n"
        "            for choice in range(1, num):\n"
        "                log_step[choice] = log_step[0]\n",
    ),
    "split particles all start with the whole weight": Fault(
        "log_step[1] -= math.log(copies[1] + (kept == 1))",
        "log_step[1] -= 0.0 if BROKEN else math.log(copies[1] + (kept == 1))",
    ),
    "resampled split particles all have the whole weight": Fault(
        "log_w[p] = log_split - math.log(total)",
        "log_w[p] = log_split - (0.0 if BROKEN else math.log(total))",
    ),
    "kind that was not let go keeps its weight": Fault(
        "log_w[p] -= log_q", "log_w[p] -= 0.0 if BROKEN else log_q"
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
    "blocks join whatever their size": Fault(
        "+ log_size_ratio(log_tau2, sizes[active[b]])",
        "+ (0.0 if BROKEN else log_size_ratio(log_tau2, sizes[active[b]]))",
    ),
    "values of another kind are kept": Fault(
        "keep_flags(partition, known, 0)", "keep_flags(partition, known, JOINING | STAYING if BROKEN else 0)"
    ),
}


GIBBS_STEPS = ("visit_all", "start_visit", "draw_block", "predict_others", "move")


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
    likelihood, prior, partition, anchors, settings, pool, rng
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
        "weigh_choices",
        "draw_choices",
        "propose",
        "give_blocks",
        "resample_if_uneven",
        "resample_all",
        "resample_split",
        "russian_roulette",
        "one_kind_is_dead",
        "compact",
        "keep_num_particles",
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
