"""The moves of the partition that make up an iteration: each has one entry in :data:`MOVES`.

An entry prepares a move for a chain and returns a :data:`Step`. All steps have the same signature, and return the new
partition and a :class:`MoveInfo`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.partition import Partition, PartitionPrior
from pyclone_pgsm.samplers.anchors import AnchorProposal
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.restricted_gibbs import restricted_gibbs
from pyclone_pgsm.samplers.sams import close_sams, sams
from pyclone_pgsm.samplers.split_merge import split_merge
from pyclone_pgsm.sampling.settings import Settings


class MoveInfo(NamedTuple):
    """How many moves of a step were tried, changed the partition, and increased or decreased its number of blocks."""

    tried: int
    changed: int
    split: int
    merged: int


COUNTS = MoveInfo._fields
"""Names of the counts of a move."""

Step = Callable[[Any, PartitionPrior, Partition, np.random.Generator], tuple[Partition, MoveInfo]]
"""Makes a move as often as an iteration requires: takes likelihood, prior, partition (changed in place) and generator;
returns the new partition and the counts."""


def _repeated(
    move: Callable[[Any, PartitionPrior, Partition, np.random.Generator], tuple[Partition, int]], times: int
) -> Step:
    """Make a step of a move that returns the partition and a number, 0 if the partition has not changed."""

    def step(
        likelihood: Any, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Partition, MoveInfo]:
        num_changed = num_split = num_merged = 0
        for _ in range(times):
            blocks_before = int(partition.counter[0])
            partition, changes = move(likelihood, prior, partition, rng)
            blocks_after = int(partition.counter[0])
            num_changed += changes > 0
            num_split += blocks_after > blocks_before
            num_merged += blocks_after < blocks_before
        return partition, MoveInfo(times, num_changed, num_split, num_merged)

    return step


def gibbs(model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal) -> Step:
    """Make the step of Gibbs sweeps over all observations."""
    sweep = compiled_for(gibbs_sweep, type(likelihood))
    return _repeated(
        lambda likelihood, prior, partition, rng: sweep(likelihood, prior, partition, model.order, rng),
        settings.sweeps,
    )


def particle_gibbs(model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal) -> Step:
    """Make the step of particle Gibbs split-merge moves with two or more anchors."""
    smc = SMCSettings(
        settings.particles,
        settings.threshold,
        settings.targets == "annealed",
        SCHEMES.index(settings.scheme),
    )
    pool = make_block_pool(settings.particles, likelihood.stat_size(), settings.anchors)
    return _with_anchors(split_merge, (smc, pool), settings, likelihood, proposal)


def close_split_merge(model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal) -> Step:
    """Make the step of SAMS with anchors in close blocks."""
    moves = compiled_for(close_sams, type(likelihood))
    times = settings.close_moves or 0

    def step(
        likelihood: Any, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Partition, MoveInfo]:
        partition, num_split, num_merged = moves(likelihood, prior, partition, times, rng)
        return partition, MoveInfo(times, num_split + num_merged, num_split, num_merged)

    return step


def exchange_members(model: Model, settings: Settings, likelihood: Any, proposal: AnchorProposal) -> Step:
    """Make the step of exchanges of members between two blocks, half as many as moves of close blocks."""
    times = math.ceil((settings.close_moves or 0) / 2)
    return lambda likelihood, prior, partition, rng: (
        partition,
        MoveInfo(times, model.exchange(likelihood, prior, partition, times, rng), 0, 0),
    )


def _with_anchors(
    kernel: Callable[..., Any],
    parameters: tuple[Any, ...],
    settings: Settings,
    likelihood: Any,
    proposal: AnchorProposal,
) -> Step:
    """Make the step of a kernel whose arguments end with anchors, `parameters` and the generator."""
    compiled = compiled_for(kernel, type(likelihood))

    def move(
        likelihood: Any, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Partition, bool]:
        anchors = proposal.draw(rng, settings.anchors)
        labels_before = partition.labels.copy()
        partition, _, _ = compiled(likelihood, prior, partition, anchors, *parameters, rng)
        return partition, not np.array_equal(partition.labels, labels_before)

    return _repeated(move, settings.moves or 1)


MOVES: dict[str, Callable[[Model, Settings, Any, AnchorProposal], Step]] = {
    "gibbs": gibbs,
    "pgsm": particle_gibbs,
    "close": close_split_merge,
    "exchange": exchange_members,
    "sams": lambda _, *chain: _with_anchors(sams, (), *chain),
    "restricted-gibbs": lambda _, settings, *others: _with_anchors(
        restricted_gibbs, (settings.scans,), settings, *others
    ),
}
"""Functions that make the step of each move: those of :data:`~pyclone_pgsm.sampling.settings.SAMPLERS`,
``close`` and ``exchange``.

They take the model, the resolved settings, a likelihood of the class that the steps will use, and the anchor proposal
of the chain.
"""


def names_of_moves(settings: Settings, num_observations: int, has_exchanges: bool) -> tuple[str, ...]:
    """Return the moves of an iteration in order; only "gibbs" if there are fewer observations than anchors.

    `has_exchanges` is an attribute of the model.
    """
    if num_observations < settings.anchors or settings.sampler == "gibbs":
        return ("gibbs",)
    *before, last = settings.steps
    added = ("close", "exchange") if has_exchanges else ("close",)
    return (*before, *added, last) if settings.close_moves else (*before, last)


def make_steps(model: Model, settings: Settings, values: Values, anchors: AnchorProposal) -> list[Step]:
    """Make the steps of an iteration, in order, with resolved settings and the chain's proposal of anchors.

    `values` are any hyperparameters of the likelihood: the steps can be used at all others.
    """
    likelihood = model.likelihood(values)
    return [
        MOVES[name](model, settings, likelihood, anchors)
        for name in names_of_moves(settings, model.num_observations, model.has_exchanges)
    ]
