"""One iteration of a chain: the moves of the partition that the settings name, then what else is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.jit.second_process import await_precompiled
from pyclone_pgsm.likelihoods.model import Model, OutlierModel, Values
from pyclone_pgsm.partition import Partition, PartitionPrior, statistic_length
from pyclone_pgsm.samplers.anchors import AnchorProposal
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.many_anchors import split_merge_many
from pyclone_pgsm.samplers.outliers import resample_outliers
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings, has_one_merged
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.restricted_gibbs import restricted_gibbs
from pyclone_pgsm.samplers.sams import sams
from pyclone_pgsm.samplers.split_merge import split_merge
from pyclone_pgsm.sampling.settings import SAMPLERS, Settings

Step = Callable[[Any, PartitionPrior, Partition, np.random.Generator], Partition]
"""One move of an iteration: likelihood, prior, partition (changed), generator; gives the partition after it."""


def make_steps(model: Model, settings: Settings, values: Values, anchors: AnchorProposal) -> list[Step]:
    """What an iteration does, in order: Gibbs sweeps, then split-merge moves, as many of each as the settings say.

    Fewer observations than anchors cannot be split or merged: they are only swept.

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
    kinds = SAMPLERS[settings.sampler] if model.num_observations >= settings.anchors else ("gibbs",)
    steps: list[Step] = []
    for kind in kinds:
        if kind == "gibbs":
            steps += [_gibbs_step(model, likelihood)] * settings.sweeps
        else:
            steps += [_split_merge_step(kind, settings, anchors, likelihood)] * (settings.moves or 1)
    return steps


def _gibbs_step(model: Model, likelihood: Any) -> Step:
    sweep = compiled_for(gibbs_sweep, type(likelihood))

    def step(
        likelihood: Any, tables: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> Partition:
        partition, _ = sweep(likelihood, tables, partition, model.order, rng)
        return partition

    return step


def _split_merge_step(kind: str, settings: Settings, proposal: AnchorProposal, likelihood: Any) -> Step:
    function, parameters = _split_merge_move(kind, settings, likelihood)
    move = compiled_for(function, type(likelihood))
    likelihood_class = type(likelihood)

    def step(
        likelihood: Any, tables: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> Partition:
        anchors = proposal.draw(rng, settings.anchors)
        if function is split_merge:
            await_precompiled(function, likelihood_class)
        partition, _, _ = move(likelihood, tables, partition, anchors, *parameters, rng)
        return partition

    return step


def _split_merge_move(
    kind: str, settings: Settings, likelihood: Any
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function of a split-merge move, and what it takes between the anchors and the generator."""
    if kind == "sams":
        return sams, ()
    if kind == "restricted-gibbs":
        return restricted_gibbs, (settings.scans,)
    smc = SMCSettings(
        settings.particles,
        settings.threshold,
        settings.targets == "annealed",
        SCHEMES.index(settings.scheme),
    )
    if settings.anchors > 2:
        return split_merge_many, (smc,)
    length = compiled_for(statistic_length, type(likelihood))(likelihood)
    pool = make_block_pool(settings.particles, length)
    return split_merge, (smc, has_one_merged(settings.scheme), pool)


def outlier_step(
    model: OutlierModel,
    values: Values,
    tables: PartitionPrior,
    partition: Partition,
    rng: np.random.Generator,
) -> tuple[OutlierModel, Partition]:
    """The model with its outliers drawn anew, and the partition."""
    likelihood = model.full_likelihood(values)
    outliers = model.outliers.copy()
    sweep = compiled_for(resample_outliers, type(likelihood))
    partition, _ = sweep(likelihood, tables, partition, outliers, model.log_weights(values), model.order, rng)
    return model.given(outliers), partition
