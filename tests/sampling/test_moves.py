"""Every move of the registry: one signature, and an account of what it did that is true."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.partition import PartitionPrior, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.moves import COUNTS, MOVES, MoveInfo, names_of_moves
from pyclone_pgsm.sampling.settings import SAMPLERS, Settings
from pyclone_pgsm.tumour.grid import deduplicate
from pyclone_pgsm.tumour.model import PyCloneModel

T = 12
X = np.random.default_rng(4).normal(size=(T, 1)) + np.repeat([0.0, 2.0], T // 2)[:, None]
CASES = [*((name, 2) for name in MOVES if name != "exchange"), ("pgsm", 3)]


def test_the_registry_has_the_moves_of_all_samplers() -> None:
    assert set(MOVES) == {name for names in SAMPLERS.values() for name in names} | {"close", "exchange"}


def test_too_few_observations_for_anchors_are_swept() -> None:
    assert names_of_moves(Settings(anchors=3), 3, False) == ("gibbs", "pgsm")
    assert names_of_moves(Settings(anchors=3), 2, False) == ("gibbs",)
    assert names_of_moves(Settings(close_moves=1), 2, False) == ("gibbs", "close", "pgsm")
    assert names_of_moves(Settings(close_moves=1), 2, True) == ("gibbs", "close", "exchange", "pgsm")
    assert names_of_moves(Settings(close_moves=1), 1, True) == ("gibbs",)
    assert names_of_moves(Settings(sampler="gibbs"), 2, True) == ("gibbs",)


@pytest.mark.parametrize(("name", "anchors"), CASES)
def test_what_a_move_says_that_it_did(name: str, anchors: int) -> None:
    model = FixedModel(Normal.from_data(X), T)
    likelihood = model.likelihood(())
    settings = Settings(
        sampler="mixed" if name in ("gibbs", "close") else name,
        anchors=anchors,
        moves=1,
        close_moves=1 if name == "close" else None,
    ).resolve(T)
    step = MOVES[name](model, settings, likelihood, ANCHOR_PROPOSALS["uniform"](T))
    assert list(inspect.signature(step).parameters) == ["likelihood", "prior", "partition", "rng"]
    dirichlet = DirichletProcess(1.0, None, None)
    prior = PartitionPrior(dirichlet.log_tau1(T), dirichlet.log_tau2(T))
    rng = np.random.default_rng(1)
    partition = compiled_for(build_partition, Normal)(likelihood, np.zeros(T, np.int32))
    total = np.zeros(len(COUNTS), int)
    for _ in range(300):
        before = canonical(partition.labels)
        partition, info = step(likelihood, prior, partition, rng)
        after = canonical(partition.labels)
        assert info == MoveInfo(
            1, (before != after).any(), after.max() > before.max(), after.max() < before.max()
        )
        total += info
    tried, changed, split, merged = total
    assert tried == 300
    assert 0 < split < changed < tried
    assert merged > 0
    assert split + merged <= changed


def test_counts_of_an_iteration() -> None:
    """Of that iteration alone, whatever is left out by thinning; a row a move."""
    model = FixedModel(Normal.from_data(X), T)
    settings = Settings(iterations=40, burn_in=0, sweeps=2, moves=3, thin=4, chains=1).resolve(T)
    state = start_chain(model, DirichletProcess(), settings, 0)
    _, records, done = advance(model, settings, state, 10, lambda _: False)
    assert done
    moves = np.array(records.moves)
    assert moves.shape == (10, 3, len(COUNTS))
    assert (moves[:, :, 0] == [2, 16, 3]).all()
    assert (moves[:, :, 1] <= moves[:, :, 0]).all()
    assert (moves.sum(axis=0) > 0).all()


def test_exchanges_keep_the_number_of_blocks() -> None:
    """Of a tumour that is large enough to have them, with two clusters that overlap."""
    rng = np.random.default_rng(2)
    num, depth = 600, 50
    labels = np.repeat([0, 1], num).astype(np.int32)
    alt = rng.binomial(depth, np.where(labels == 0, 0.2, 0.3))[:, None]
    one = np.ones_like(alt)
    observations = Observations(
        mutation_ids=[f"m{t}" for t in range(2 * num)],
        sample_ids=["S"],
        ref_counts=depth - alt,
        alt_counts=alt,
        major_cn=one,
        minor_cn=one,
        normal_cn=2 * one,
        tumour_content=1.0 * one,
        error_rate=0.001 * one,
        has_data=one == 1,
    )
    model = PyCloneModel(deduplicate(observations), 101, "major", math.inf)
    assert model.has_exchanges
    likelihood, times = model.likelihood(()), 8
    settings = Settings(close_moves=times).resolve(2 * num)
    step = MOVES["exchange"](model, settings, likelihood, ANCHOR_PROPOSALS["uniform"](2 * num))
    dirichlet = DirichletProcess(1.0, None, None)
    prior = PartitionPrior(dirichlet.log_tau1(2 * num), dirichlet.log_tau2(2 * num))
    partition = compiled_for(build_partition, PyClone)(likelihood, labels)
    total = np.zeros(len(COUNTS), int)
    for _ in range(10):
        before = canonical(partition.labels)
        partition, info = step(likelihood, prior, partition, rng)
        assert info.changed > 0 or (before == canonical(partition.labels)).all()
        total += info
    tried, changed, split, merged = total
    assert (tried, split, merged) == (10 * times // 2, 0, 0)
    assert tried // 2 < changed <= tried
    assert canonical(partition.labels).max() == 1
