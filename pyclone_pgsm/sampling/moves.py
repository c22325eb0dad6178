"""The moves of the partition, which an iteration is made of: each has one entry in :data:`MOVES`.

An entry prepares a move for a chain and returns a :data:`Step`. All steps have the same signature, and return what they
did besides the new partition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.jit.second_process import await_precompiled
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.partition import Partition, PartitionPrior, statistic_length
from pyclone_pgsm.samplers.anchors import AnchorProposal
from pyclone_pgsm.samplers.close_blocks import close_anchors
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.many_anchors import split_merge_many
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings, has_one_merged
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.restricted_gibbs import restricted_gibbs
from pyclone_pgsm.samplers.sams import sams
from pyclone_pgsm.samplers.split_merge import split_merge
from pyclone_pgsm.sampling.settings import Settings

COUNTS = ("tried", "changed", "split", "merged")
"""What is counted of a move: how often it was made, changed the partition, left more blocks, left fewer."""


class MoveInfo(NamedTuple):
    """What a move did.

    Attributes
    ----------
    changed : bool
        The partition is another than before.
    blocks_before, blocks_after : int
        Of the whole partition.
    """

    changed: bool
    blocks_before: int
    blocks_after: int

    @property
    def counts(self) -> tuple[int, ...]:
        """What the move adds to the :data:`COUNTS`."""
        is_split = self.blocks_after > self.blocks_before
        is_merge = self.blocks_after < self.blocks_before
        return 1, int(self.changed), int(is_split), int(is_merge)


Step = Callable[[Any, PartitionPrior, Partition, np.random.Generator], tuple[Partition, MoveInfo]]
"""A move: likelihood, prior, partition (changed) and generator; gives the partition after it and what happened."""


def gibbs(model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal) -> Step:
    """A Gibbs sweep over all observations."""
    sweep = compiled_for(gibbs_sweep, type(likelihood))

    def step(
        likelihood: Any, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Partition, MoveInfo]:
        blocks_before = int(partition.counter[0])
        partition, moved = sweep(likelihood, prior, partition, model.order, rng)
        return partition, MoveInfo(moved > 0, blocks_before, int(partition.counter[0]))

    return step


def particle_gibbs(model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal) -> Step:
    """The particle Gibbs split-merge move of two anchors or more."""
    smc = SMCSettings(
        settings.particles,
        settings.threshold,
        settings.targets == "annealed",
        SCHEMES.index(settings.scheme),
    )
    if settings.anchors > 2:
        return _with_anchors(split_merge_many, (smc,), settings, likelihood, proposal)
    length = compiled_for(statistic_length, type(likelihood))(likelihood)
    parameters = smc, has_one_merged(settings.scheme), make_block_pool(settings.particles, length)
    return _with_anchors(split_merge, parameters, settings, likelihood, proposal)


def sequential_split_merge(
    model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal
) -> Step:
    """SAMS."""
    return _with_anchors(sams, (False,), settings, likelihood, proposal)


def close_split_merge(model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal) -> Step:
    """SAMS with anchors in close blocks, drawn given the partition."""
    draw, move = (compiled_for(kernel, type(likelihood)) for kernel in (close_anchors, sams))

    def step(
        likelihood: Any, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Partition, MoveInfo]:
        blocks_before = int(partition.counter[0])
        anchors = draw(likelihood, partition, rng)
        if anchors[0] != anchors[1]:
            partition, _, _ = move(likelihood, prior, partition, anchors, True, rng)
        blocks_after = int(partition.counter[0])
        return partition, MoveInfo(blocks_after != blocks_before, blocks_before, blocks_after)

    return step


def restricted_gibbs_split_merge(
    model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal
) -> Step:
    """Split-merge with restricted Gibbs scans."""
    return _with_anchors(restricted_gibbs, (settings.scans,), settings, likelihood, proposal)


def _with_anchors(
    kernel: Callable[..., Any],
    parameters: tuple[Any, ...],
    settings: Settings,
    likelihood: Any,
    proposal: AnchorProposal,
) -> Step:
    """The step of a kernel that takes anchors, and `parameters` between them and the generator."""
    likelihood_class = type(likelihood)
    move = compiled_for(kernel, likelihood_class)

    def step(
        likelihood: Any, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Partition, MoveInfo]:
        anchors = proposal.draw(rng, settings.anchors)
        if kernel is split_merge:
            await_precompiled(kernel, likelihood_class)
        labels_before, blocks_before = partition.labels.copy(), int(partition.counter[0])
        partition, _, _ = move(likelihood, prior, partition, anchors, *parameters, rng)
        changed = not np.array_equal(partition.labels, labels_before)
        return partition, MoveInfo(changed, blocks_before, int(partition.counter[0]))

    return step


MOVES: dict[str, Callable[[Model, Settings, Any, AnchorProposal], Step]] = {
    "gibbs": gibbs,
    "pgsm": particle_gibbs,
    "close": close_split_merge,
    "sams": sequential_split_merge,
    "restricted-gibbs": restricted_gibbs_split_merge,
}
"""By its name, what makes the step of a move: those of :data:`~pyclone_pgsm.sampling.settings.SAMPLERS`, and ``close``.

It takes the model, the resolved settings, a likelihood of the class that the steps will see, and the anchor proposal
of the chain.
"""


def names_of_moves(settings: Settings, num_observations: int) -> tuple[str, ...]:
    """The moves of an iteration, in order: fewer observations than anchors cannot be split or merged."""
    if num_observations < settings.anchors or settings.sampler == "gibbs":
        return ("gibbs",)
    *before, last = settings.steps
    return (*before, "close", last) if settings.close_moves else (*before, last)


def make_steps(
    model: Model, settings: Settings, values: Values, anchors: AnchorProposal
) -> list[tuple[Step, int]]:
    """The steps of an iteration, in order, and how often each is taken.

    Parameters
    ----------
    model : Model
    settings : Settings
        Resolved.
    values : tuple of float
        Hyperparameters at which the steps are made; they serve at any others.
    anchors : AnchorProposal
        Of the chain: asked for the anchors of every move.
    """
    likelihood = model.likelihood(values)
    times = {"gibbs": settings.sweeps, "close": settings.close_moves or 0}
    return [
        (MOVES[name](model, settings, likelihood, anchors), times.get(name, settings.moves or 1))
        for name in names_of_moves(settings, model.num_observations)
    ]
