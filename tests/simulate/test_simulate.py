"""Simulated tumours: same seed same bytes, marginals as the model says, and tables that read back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pyclone_pgsm.errors import OutputError, UsageError
from pyclone_pgsm.inputs.read_counts.tables import read_tables
from pyclone_pgsm.inputs.values import ERROR_RATE, TUMOUR_CONTENT
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.subclones import SecondStates, draw_second_states, draw_tree, draw_tree_prevalences
from pyclone_pgsm.simulate.tumour import (
    AUTOSOME_STATES,
    X_STATES,
    draw_alt_counts,
    draw_genotypes,
    share_of_second_states,
    simulate,
    variant_share,
)
from pyclone_pgsm.simulate.writing import write_simulation
from pyclone_pgsm.tumour.genotypes import Genotype, genotype_states
from pyclone_pgsm.tumour.kernels import variant_share as share_of_the_sampler

EXAMPLE = Path(__file__).parents[2] / "example_data"
MIXED: dict[str, Any] = {
    "mutations": 300,
    "clusters": 5,
    "purity": (0.9, 0.6, 0.3),
    "copy_numbers": "mixed",
    "missing": 0.1,
    "precision": 100.0,
}


def draw(seed: int = 1, **options: Any) -> Any:
    return simulate(SimulationOptions(**options), np.random.default_rng(seed))


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    options = SimulationOptions(**MIXED)
    first = [path.read_bytes() for path in write_simulation(tmp_path / "a", options, 3)]
    again = [path.read_bytes() for path in write_simulation(tmp_path / "b", options, 3)]
    other = [path.read_bytes() for path in write_simulation(tmp_path / "c", options, 4)]
    assert first == again
    assert all(one != two for one, two in zip(first, other))


def test_tables_read_back(tmp_path: Path) -> None:
    table, truth_path, noted = write_simulation(tmp_path, SimulationOptions(**MIXED), 7, name="t")
    assert [path.name for path in (table, truth_path, noted)] == ["t.tsv", "t.truth.tsv", "t.json"]
    simulation = simulate(SimulationOptions(**MIXED), np.random.Generator(np.random.PCG64(7)))
    drawn = simulation.observations
    observations, left_out = read_tables([table])
    assert left_out == []
    assert observations.mutation_ids == drawn.mutation_ids
    assert sorted(observations.sample_ids) == drawn.sample_ids
    samples = [observations.sample_ids.index(name) for name in drawn.sample_ids]
    has_data = observations.has_data[:, samples]
    assert (has_data == drawn.has_data).all()
    for name in (
        "ref_counts",
        "alt_counts",
        "major_cn",
        "minor_cn",
        "normal_cn",
        "tumour_content",
        "error_rate",
    ):
        assert (getattr(observations, name)[:, samples] == getattr(drawn, name))[has_data].all(), name
    assert observations.annotations["chrom"] == drawn.annotations["chrom"]
    assert observations.annotations["pos"] == drawn.annotations["pos"]

    truth = pd.read_csv(truth_path, sep="\t")
    assert list(truth.columns) == ["mutation_id", "sample_id", "cluster", "ccf"]
    assert len(truth) == 300 * 3
    assert (truth["cluster"].to_numpy().reshape(300, 3) == simulation.cluster[:, np.newaxis]).all()
    assert (truth["ccf"].to_numpy().reshape(300, 3) == simulation.prevalence[simulation.cluster]).all()

    options = json.loads(noted.read_text())
    assert options["seed"] == 7
    assert options["purity"] == [0.9, 0.6, 0.3]
    assert options["precision"] == 100.0


def test_columns_of_the_table(tmp_path: Path) -> None:
    table = write_simulation(tmp_path, SimulationOptions(mutations=10), 1)[0]
    assert table.read_text().splitlines()[0].split("\t") == [
        "mutation_id",
        "sample_id",
        "ref_counts",
        "alt_counts",
        "major_cn",
        "minor_cn",
        "normal_cn",
        "tumour_content",
        "error_rate",
        "chrom",
        "pos",
    ]
    assert json.loads((tmp_path / "simulated.json").read_text())["precision"] == "inf"


def test_mutations_look_like_mutations() -> None:
    observations = draw(**MIXED).observations
    assert len(set(observations.mutation_ids)) == 300
    for name, chrom, pos in zip(
        observations.mutation_ids, observations.annotations["chrom"], observations.annotations["pos"]
    ):
        place, position, change = name.split(":")
        assert (place, position) == (chrom, pos)
        ref, alt = change.split(">")
        assert ref in "ACGT"
        assert alt in "ACGT"
        assert ref != alt
        assert int(pos) >= 1
    assert {"chr1", "chr21"} < set(observations.annotations["chrom"])


def test_copy_numbers_come_in_segments() -> None:
    observations = draw(**MIXED).observations
    frame = pd.DataFrame(
        {
            "chrom": observations.annotations["chrom"],
            "pos": [int(text) for text in observations.annotations["pos"]],
            "state": list(zip(observations.major_cn[:, 0], observations.minor_cn[:, 0])),
            "normal": observations.normal_cn[:, 0],
        }
    )
    assert (observations.major_cn == observations.major_cn[:, :1]).all()
    for chrom, rows in frame.groupby("chrom"):
        ordered = rows.sort_values("pos")
        assert (ordered["state"] != ordered["state"].shift()).sum() <= 2
        on_x = chrom == "chrX"
        assert set(ordered["normal"]) == {1 if on_x else 2}
        assert set(ordered["state"]) <= set(X_STATES if on_x else AUTOSOME_STATES)
    assert "chrX" in set(frame["chrom"])
    assert frame["state"].nunique() > 3
    diploid = draw(mutations=300).observations
    assert (diploid.major_cn == 1).all()
    assert (diploid.minor_cn == 1).all()
    assert (diploid.normal_cn == 2).all()


def test_genotypes_are_those_of_the_prior() -> None:
    simulation = draw(**MIXED)
    observations = simulation.observations
    for i, genotype in enumerate(simulation.genotype[:, 0].tolist()):
        numbers = observations.major_cn[i, 0], observations.minor_cn[i, 0], observations.normal_cn[i, 0]
        assert tuple(genotype) in genotype_states("major", *map(int, numbers))
    assert (simulation.genotype == simulation.genotype[:, :1]).all()
    of_samples = draw(**MIXED, genotypes="by-sample").genotype
    assert 0.1 < (of_samples != of_samples[:, :1]).any(axis=2)[:, 1].mean() < 0.9
    drawn = draw_genotypes(np.tile([2, 1, 2], (3000, 1)), np.random.default_rng(0))
    states, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(states) == 3
    assert (abs(counts - 1000) < 150).all()


def test_variant_share_by_hand() -> None:
    """Half of the cells are cancer cells, 40 % of these carry 2 mutant of 3 copies."""
    share = variant_share(np.array([2, 2, 3, 2]), 0.4, 0.5, 0.01)
    mutant = 0.5 * 0.4 * 3
    others = 0.5 * 2 + 0.5 * 0.6 * 2
    assert share == pytest.approx((mutant * 2 / 3 + others * 0.01) / (mutant + others))
    assert variant_share(np.array([2, 2, 2, 1]), 1.0, 1.0, 0.01) == pytest.approx(0.5)
    assert variant_share(np.array([1, 1, 1, 1]), 1.0, 1.0, 0.01) == pytest.approx(0.99)
    assert variant_share(np.array([2, 2, 2, 1]), 0.0, 1.0, 0.01) == pytest.approx(0.01)


@pytest.mark.parametrize("copies", [(1, 1, 2), (3, 1, 2), (2, 0, 2), (2, 0, 1)])
def test_variant_share_is_that_of_the_sampler(copies: tuple[int, int, int]) -> None:
    grid = np.linspace(0, 1, 21)
    for state in genotype_states("major", *copies):
        mean, complement = np.empty(21), np.empty(21)
        share_of_the_sampler(np.array([*state, 0.0, 0.0, 0.0, 0.0]), 0.7, 0.002, grid, mean, complement)
        assert variant_share(np.array(state), grid, 0.7, 0.002) == pytest.approx(mean, rel=1e-12)


SUBCLONAL: dict[str, Any] = {**MIXED, "subclonal": 0.6, "clusters": 6}


def test_a_subclone_s_event_reads_back(tmp_path: Path) -> None:
    table, truth_path, noted = write_simulation(tmp_path, SimulationOptions(**SUBCLONAL), 7)
    simulation = simulate(SimulationOptions(**SUBCLONAL), np.random.Generator(np.random.PCG64(7)))
    drawn = simulation.observations
    observations, left_out = read_tables([table])
    assert left_out == []
    samples = [observations.sample_ids.index(name) for name in drawn.sample_ids]
    for name in ("major_cn", "minor_cn", "subclonal_major_cn", "subclonal_minor_cn", "subclonal_fraction"):
        found = getattr(observations, name)[:, samples][drawn.has_data]
        assert (found == getattr(drawn, name)[drawn.has_data]).all(), name
    truth = pd.read_csv(truth_path, sep="\t")
    np.testing.assert_allclose(truth["ccf"].to_numpy().reshape(300, 3), simulation.ccf, rtol=1e-9)
    assert json.loads(noted.read_text())["subclonal"] == 0.6


def test_subclones_have_second_states() -> None:
    """Of the clone that has the event: its prevalence is the fraction, and one copy is gained or lost."""
    simulation = draw(**{**SUBCLONAL, "mutations": 2000, "missing": 0.0})
    observations = simulation.observations
    fraction = observations.subclonal_fraction
    has_event = (fraction > 0).any(axis=1)
    assert 0.3 < has_event.mean() < 0.9
    known = {tuple(row) for row in simulation.prevalence[1:].tolist()}
    assert {tuple(row) for row in fraction[has_event].tolist()} <= known
    assert ((fraction > 0) & (fraction < 1))[has_event].any(axis=1).all()
    held = fraction > 0
    first = observations.major_cn + observations.minor_cn
    second = observations.subclonal_major_cn + observations.subclonal_minor_cn
    assert (np.abs(second - first)[held] == 1).all()
    assert second[held].min() >= 1
    assert (observations.subclonal_major_cn >= observations.subclonal_minor_cn).all()
    assert (second[~held] == 0).all()
    assert (simulation.genotype[has_event] == 0).all()
    assert (simulation.genotype[~has_event] > 0).any(axis=2).all()


def test_prevalences_of_a_tree_of_clones() -> None:
    prevalence, within = draw_tree_prevalences(
        draw_tree(8, np.random.default_rng(1)), 4, 0.3, np.random.default_rng(2)
    )
    assert (prevalence[0] == 1.0).all()
    assert within[0].all()
    assert (np.diff(prevalence.mean(axis=1)) <= 0).all()
    for parent, child in np.argwhere(within):
        assert (prevalence[parent] >= prevalence[child]).all()
    assert within.diagonal().all()
    assert (prevalence == 0.0).any()
    children = [k for k in range(1, 8) if within[:, k].sum() == 2]  # of the root alone
    np.testing.assert_array_less(prevalence[children].sum(axis=0), 1.0)
    assert (prevalence.max(axis=1) > 0).all()


@pytest.mark.parametrize("lineage", ["ancestor", "owner", "descendant", "other"])
@pytest.mark.parametrize(("alleles", "event"), [((1, 1), (0, 1)), ((1, 1), (1, -1)), ((2, 1), (0, -1))])
def test_where_a_mutation_lies(lineage: str, alleles: tuple[int, int], event: tuple[int, int]) -> None:
    """Clone 2 has the event; 1 is its parent, 3 its child, 4 a sister; every outcome that can be, and no other."""
    within = np.eye(5, dtype=bool)
    within[0] = True
    within[1, [2, 3]] = within[2, 3] = True
    prevalence = np.array([[1.0], [0.7], [0.4], [0.1], [0.3]])
    cluster = {"ancestor": 1, "owner": 2, "descendant": 3, "other": 4}[lineage]
    N = 2000
    drawn = draw_second_states(
        np.tile(alleles, (N, 1)),
        np.tile(event, (N, 1)),
        np.full(N, 2),
        np.full(N, cluster),
        prevalence,
        within,
        np.random.default_rng(3),
    )
    changed = list(alleles)
    changed[event[0]] += event[1]
    assert drawn.state.tolist() == [sorted(changed, reverse=True)] * N
    assert (drawn.fraction == 0.4).all()
    outcomes, counts = np.unique(
        np.round(np.column_stack([drawn.ccf[:, 0], drawn.carriers[:, 0]]), 9), axis=0, return_counts=True
    )
    found = dict(zip(map(tuple, outcomes.tolist()), counts / N))
    hit = 1.0 / sum(alleles)  # the one mutant copy is the one that is gained or lost
    kept, touched = {
        "ancestor": ((0.7, 0.7), (0.7, 1.1) if event[1] > 0 else (0.3, 0.3)),
        "owner": ((0.4, 0.4), (0.4, 0.8) if event[1] > 0 else (0.0, 0.0)),
        "descendant": ((0.1, 0.1), None),
        "other": ((0.3, 0.3), None),
    }[lineage]
    if touched is None:
        assert found == {kept: 1.0}
        return
    share = hit * (0.5 if lineage == "owner" else 1.0)  # half of the founder's are younger than the event
    assert set(found) == {kept, touched}
    assert found[touched] == pytest.approx(share, abs=0.05)


def test_old_mutations_of_the_root_are_on_all_copies_of_an_allele() -> None:
    within = np.array([[True, True], [False, True]])
    drawn = draw_second_states(
        np.tile((3, 0), (3000, 1)),
        np.tile((0, 1), (3000, 1)),
        np.ones(3000, int),
        np.zeros(3000, int),
        np.array([[1.0], [0.25]]),
        within,
        np.random.default_rng(4),
    )
    values, counts = np.unique(drawn.carriers, return_counts=True)
    np.testing.assert_allclose(values, [1.0, 1.25, 3.25])  # young, young and gained, old: gained for sure
    np.testing.assert_allclose(counts / 3000, [1 / 3, 1 / 6, 1 / 2], atol=0.04)


def test_the_share_of_variant_reads_is_that_of_the_sampler() -> None:
    """70 % of the cells have the mutation, 40 % of them with a third copy that carries it, too."""
    drawn = SecondStates(
        np.array([[2, 1]]), np.array([[0.4]]), np.array([[0.7]]), np.array([[0.4 * 2 + 0.3 * 1]])
    )
    share = share_of_second_states(drawn, np.array([[1, 1, 2]]), np.array([0.6]), 0.01)
    mutant = 0.6 * 1.1 / (0.4 * 2 + 0.6 * (0.6 * 2 + 0.4 * 3))
    assert share == pytest.approx(mutant * 0.99 + (1 - mutant) * 0.01)
    exact = share_of_second_states(drawn, np.array([[1, 1, 2]]), np.array([0.6]), 1e-12)
    state = Genotype(2, 2, 3, first_mutant=2, other_mutant=1, share=0.4, is_strict=True, log_weight=0.0)
    mean, complement = np.empty(1), np.empty(1)
    share_of_the_sampler(np.array(state), 0.6, 1e-12, np.array([0.7]), mean, complement)
    assert exact[0] == pytest.approx(mean, rel=1e-9)


def test_a_precision_of_each_sample() -> None:
    simulation = draw(mutations=20_000, precision=(20.0, 200.0, math.inf), clusters=2, absent=0.0)
    observations = simulation.observations
    share = variant_share(simulation.genotype, simulation.ccf, 0.8, 0.001)
    depth = observations.depth
    spread = (observations.alt_counts - depth * share) ** 2 / (depth * share * (1 - share))
    expected = [(20 + 100) / 21, (200 + 100) / 201, 1.0]
    np.testing.assert_allclose(spread.mean(axis=0), expected, rtol=0.05)
    assert SimulationOptions(precision=(20.0, 200.0, math.inf)).to_dict()["precision"] == [20.0, 200.0, "inf"]


def test_reads_have_the_expected_mean() -> None:
    """Standardised by the beta-binomial's mean and variance, 60,000 draws have mean 0 and variance 1."""
    for precision in (math.inf, 50.0):
        simulation = draw(**{**MIXED, "mutations": 20_000, "precision": precision, "missing": 0.0})
        observations = simulation.observations
        share = variant_share(
            simulation.genotype,
            simulation.prevalence[simulation.cluster],
            observations.tumour_content,
            0.001,
        )
        depth = observations.depth
        inflation = 1.0 if math.isinf(precision) else (precision + depth) / (precision + 1)
        score = (observations.alt_counts - depth * share) / np.sqrt(depth * share * (1 - share) * inflation)
        assert abs(score.mean()) < 4 / math.sqrt(score.size)
        assert (score**2).mean() == pytest.approx(1.0, abs=0.05)


def test_depth() -> None:
    depth = draw(mutations=20_000, depth=30.0).observations.depth
    assert depth.mean() == pytest.approx(30.0, abs=0.1)
    assert depth.var() == pytest.approx(29.0, abs=0.8)
    assert (draw(mutations=1000, depth=1.0).observations.depth == 1).all()


def test_smallest_precision_gives_numbers() -> None:
    alt = draw_alt_counts(np.full(10_000, 100), np.full(10_000, 1e-6), 0.1, np.random.default_rng(0))
    assert alt.min() >= 0
    assert alt.max() <= 100


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cluster_sizes": "equal", "precision": 50.0},
        {"copy_numbers": "mixed", "subclonal": 0.5, "missing": 0.2},
    ],
)
def test_artefacts(more: dict[str, Any]) -> None:
    """They belong to no cluster, and their reads show any share of the variant in any sample."""
    drawn = draw(mutations=2000, artefacts=0.2, depth=1000, **more)
    is_artefact = drawn.cluster < 0
    assert is_artefact.sum() == 400
    assert set(drawn.cluster[~is_artefact]) == set(range(6))
    assert np.isnan(drawn.ccf[is_artefact]).all()
    assert not np.isnan(drawn.ccf[~is_artefact]).any()
    assert (drawn.genotype[is_artefact] == 0).all()
    known = drawn.observations.has_data.all(axis=1) & is_artefact
    vaf = (drawn.observations.alt_counts / np.maximum(drawn.observations.depth, 1))[known]
    for column in vaf.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    assert np.abs(np.corrcoef(vaf.T) - np.eye(3)).max() < 0.2


def test_artefacts_in_the_truth(tmp_path: Path) -> None:
    options = SimulationOptions(mutations=20, clusters=2, artefacts=0.1)
    _, truth, noted = write_simulation(tmp_path, options)
    rows = pd.read_csv(truth, sep="\t")
    assert (rows["cluster"] == -1).sum() == 2 * 3
    np.testing.assert_array_equal(rows["ccf"].isna(), rows["cluster"] == -1)
    assert json.loads(noted.read_text())["artefacts"] == 0.1
    assert "artefacts" not in SimulationOptions().to_dict()


@pytest.mark.parametrize("missing", [0.0, 0.05, 0.5, 2 / 3])
def test_missing_rows(missing: float) -> None:
    observations = draw(mutations=200, missing=missing).observations
    assert (~observations.has_data).sum() == round(missing * 600)
    assert observations.has_data.any(axis=1).all()
    assert observations.has_data.any(axis=0).all()
    assert (observations.depth[~observations.has_data] == 0).all()


def test_missing_rows_fall_on_all_samples_alike() -> None:
    observations = draw(mutations=30_000, missing=0.5).observations
    assert np.allclose((~observations.has_data).mean(axis=0), 0.5, atol=0.02)


def test_prevalences() -> None:
    simulation = draw(mutations=400, clusters=200, samples=10, absent=0.3)
    assert (simulation.prevalence[0] == 1.0).all()
    others = simulation.prevalence[1:]
    assert (others < 1.0).all()
    assert (others > 0).any(axis=1).all()
    assert (others == 0).mean() == pytest.approx(0.3 * 0.9, abs=0.04)
    assert others[others > 0].mean() == pytest.approx(0.5, abs=0.03)
    means = simulation.prevalence.mean(axis=1)
    assert (np.diff(means) <= 0).all()
    plain = draw(clusters=50, clonal=False, absent=0.0).prevalence
    assert (plain > 0).all()
    assert (plain.max(axis=1) < 1).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_prevalences_of_the_learned_prior(seed: int) -> None:
    """Each cluster and sample independently from the mixture that the weights say."""
    simulation = draw(seed, mutations=4000, clusters=4000, samples=2, prevalence_prior="learned")
    assert simulation.weights is not None
    for column, weights in zip(simulation.prevalence.T, simulation.weights):

        def cdf(x: Any, weights: Any = weights) -> Any:
            parts = [stats.beta.cdf(x, *ab) for ab in ((0.1, 1.0), (1.0, 0.1), (1.0, 1.0))]
            return weights @ np.array(parts)

        inside = (column > 0.001) & (column < 0.999)  # they are rounded
        ends = cdf(np.array([0.001, 0.999]))
        assert stats.binomtest(int(inside.sum()), 4000, ends[1] - ends[0]).pvalue > 1e-3
        scaled = (cdf(column[inside]) - ends[0]) / (ends[1] - ends[0])
        assert stats.kstest(scaled, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(simulation.prevalence.T)[0, 1]) < 0.06
    assert (np.diff(simulation.prevalence.mean(axis=1)) <= 0).all()


def test_weights_of_the_learned_prior() -> None:
    """Dirichlet(1, 1, 2) in each sample: the first two are Beta(1, 3), the last Beta(2, 2)."""
    weights = draw(mutations=1, clusters=1, samples=3000, prevalence_prior="learned").weights
    for column, ab in zip(weights.T, ((1, 3), (1, 3), (2, 2))):
        assert stats.kstest(column, stats.beta(*ab).cdf).pvalue > 1e-3


def test_prevalences_of_the_uniform_prior() -> None:
    simulation = draw(mutations=2000, clusters=2000, samples=2, prevalence_prior="uniform")
    assert simulation.weights is None
    for column in simulation.prevalence.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


def test_weights_are_noted(tmp_path: Path) -> None:
    options = SimulationOptions(
        mutations=20, clusters=3, samples=2, prevalence_prior="learned", precision=50.0
    )
    noted = json.loads(write_simulation(tmp_path, options, 5)[2].read_text())
    expected = simulate(options, np.random.Generator(np.random.PCG64(5))).weights
    assert noted["prevalence_prior"] == "learned"
    assert list(noted["weights"]) == ["S1", "S2"]
    np.testing.assert_array_equal(list(noted["weights"].values()), expected)
    for plain in ("clones", "uniform"):
        options = SimulationOptions(mutations=20, prevalence_prior=plain)
        noted = json.loads(write_simulation(tmp_path / plain, options, 5)[2].read_text())
        assert "weights" not in noted
        assert noted.get("prevalence_prior", "clones") == plain


def test_cluster_sizes() -> None:
    equal = np.bincount(draw(mutations=100, clusters=7, cluster_sizes="equal").cluster)
    assert set(equal) == {14, 15}
    for seed in range(5):
        sizes = np.bincount(draw(seed, mutations=30, clusters=25).cluster, minlength=25)
        assert sizes.min() >= 1
        assert sizes.sum() == 30
    assert sorted(draw(mutations=5, clusters=5).cluster) == [0, 1, 2, 3, 4]
    assert draw(mutations=1, samples=1, clusters=1).prevalence.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mutations": 0}, "`mutations` 0: must be between 1 and 100,000,000"),
        ({"mutations": 10**10}, "`mutations` 10000000000: must be between 1 and 100,000,000"),
        ({"samples": 0}, "`samples` 0: must be at least 1"),
        ({"clusters": 0}, "`clusters` 0: must be between 1 and the number of mutations, 200"),
        ({"clusters": 201}, "`clusters` 201: must be between 1 and the number of mutations, 200"),
        ({"depth": 0.5}, "`depth` 0.5: must be at least 1 and below 1e9"),
        ({"depth": math.nan}, "`depth` nan: must be at least 1 and below 1e9"),
        ({"purity": 0.0}, f"`purity` 0: out of range; expected {TUMOUR_CONTENT.expected}"),
        (
            {"purity": (0.5, 70.0, 0.5)},
            f"`purity` 70: out of range; expected {TUMOUR_CONTENT.expected}. If this is a percentage, write 0.7",
        ),
        (
            {"purity": (0.5, 0.6)},
            "`purity`: 2 numbers for 3 samples: must be one number for all samples, or one per sample",
        ),
        ({"copy_numbers": "triploid"}, "`copy_numbers` 'triploid': must be one of diploid, mixed"),
        ({"missing": 0.7}, "`missing` 0.7: must be between 0 and 0.666, since every mutation keeps a row"),
        ({"missing": 0.1, "samples": 1}, "`missing` 0.1: must be 0 with one sample"),
        ({"precision": 0.0}, "`precision` 0.0: must be at least 0.1, or inf for the binomial"),
        ({"precision": math.nan}, "`precision` nan: must be at least 0.1, or inf for the binomial"),
        ({"error_rate": 0.5}, f"`error_rate` 0.5: out of range; expected {ERROR_RATE.expected}"),
        ({"cluster_sizes": "even"}, "`cluster_sizes` 'even': must be one of dirichlet, equal"),
        (
            {"absent": 0.5, "prevalence_prior": "learned"},
            "`absent` 0.5: has no effect with `prevalence_prior` learned: leave it out, or use "
            "`prevalence_prior` clones",
        ),
        (
            {"clonal": False, "prevalence_prior": "uniform"},
            "`clonal` False: has no effect with `prevalence_prior` uniform: leave it out, or use "
            "`prevalence_prior` clones",
        ),
        ({"clonal": "no"}, "`clonal` 'no': must be True or False"),
        ({"absent": 1.0}, "`absent` 1.0: must be at least 0 and below 1"),
        ({"precision": (50.0, 0.0, 1.0)}, "`precision` 0.0: must be at least 0.1, or inf for the binomial"),
        (
            {"precision": (50.0, 60.0)},
            "`precision`: 2 numbers for 3 samples: must be one number for all samples, or one per sample",
        ),
        ({"artefacts": 1.0}, "`artefacts` 1.0: must be at least 0 and below 1"),
        ({"artefacts": math.nan}, "`artefacts` nan: must be at least 0 and below 1"),
        (
            {"artefacts": 0.9, "clusters": 21},
            "`artefacts` 0.9: leaves fewer mutations than there are clusters, 21",
        ),
        ({"subclonal": 1.5}, "`subclonal` 1.5: must be between 0 and 1"),
        ({"prevalence_prior": "beta"}, "`prevalence_prior` 'beta': must be one of clones, learned, uniform"),
        (
            {"subclonal": 0.5, "copy_numbers": "mixed", "prevalence_prior": "learned"},
            "`prevalence_prior` learned: draws clusters independently, but `subclonal` needs a tree of clones: "
            "use `prevalence_prior` clones or `subclonal` 0",
        ),
        (
            {"subclonal": 0.5},
            "`subclonal` 0.5: needs `copy_numbers` mixed, a clonal cluster and another",
        ),
        (
            {"subclonal": 0.5, "copy_numbers": "mixed", "clonal": False},
            "`subclonal` 0.5: needs `copy_numbers` mixed, a clonal cluster and another",
        ),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        SimulationOptions(**options)
    assert str(caught.value) == message


def test_seed_and_name_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^`seed` -1: must be at least 0$"):
        write_simulation(tmp_path, SimulationOptions(), -1)
    for name in ("", ".", "..", "a/b"):
        with pytest.raises(UsageError, match="must be a file's name without folder, like tumour1"):
            write_simulation(tmp_path, SimulationOptions(), name=name)
    assert list(tmp_path.iterdir()) == []


def test_arguments_of_other_types(tmp_path: Path) -> None:
    options: Any = SimulationOptions(mutations=20)
    for arguments, message in (
        ((3, options), r"^`folder` 3: must be a path$"),
        (
            (tmp_path, {"mutations": 20}),
            r"^`options` {'mutations': 20}: must be of the class SimulationOptions$",
        ),
    ):
        with pytest.raises(UsageError, match=message):
            write_simulation(*arguments)
    with pytest.raises(UsageError, match=r"^`name` 3: must be a file's name without folder, like tumour1$"):
        write_simulation(tmp_path, options, name=3)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_noted(tmp_path: Path) -> None:
    options = SimulationOptions(mutations=20, missing=np.float32(0.25), absent=np.int64(0))  # type: ignore[arg-type]
    *_, noted = write_simulation(str(tmp_path / "new"), options)
    stored = json.loads(noted.read_text())
    assert (stored["missing"], stored["absent"]) == (0.25, 0.0)


def test_existing_files_are_kept_without_force(tmp_path: Path) -> None:
    options = SimulationOptions(mutations=20)
    (tmp_path / "simulated.truth.tsv").write_text("mine")
    with pytest.raises(OutputError, match=r"simulated\.truth\.tsv exists already"):
        write_simulation(tmp_path, options)
    assert [path.name for path in tmp_path.iterdir()] == ["simulated.truth.tsv"]
    write_simulation(tmp_path, options, force=True)
    assert (tmp_path / "simulated.truth.tsv").read_text() != "mine"


def test_example_data_is_what_its_options_give(tmp_path: Path) -> None:
    noted = json.loads((EXAMPLE / "tumour.json").read_text())
    seed = noted.pop("seed")
    options = {name: value for name, value in noted.items() if name not in ("program", "version")}
    table, truth, _ = write_simulation(tmp_path, SimulationOptions(**options), seed, name="tumour")
    assert table.read_text() == (EXAMPLE / "tumour.tsv").read_text()
    assert truth.read_text() == (EXAMPLE / "tumour.truth.tsv").read_text()
