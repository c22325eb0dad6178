"""The Xi grid against slow references, interning, and the choice of the grid size."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from xi_reference import Row, log_likelihoods, log_pmf_scipy, log_pmf_sum, observations

from pyclone_pgsm.inputs.observations import GENOTYPE_PRIORS, Observations
from pyclone_pgsm.likelihoods.pyclone import make_pyclone
from pyclone_pgsm.tumour import grid as tumour_grid
from pyclone_pgsm.tumour import kernels
from pyclone_pgsm.tumour.base_measure import UNIFORM, component_masses
from pyclone_pgsm.tumour.genotypes import LOOSE
from pyclone_pgsm.tumour.grid import (
    GRID_SIZES,
    LocusTable,
    Setting,
    XiGrid,
    cell_ends,
    choose_grid_size,
    deduplicate,
    likelihood_grid,
    loci_of,
    prevalence_grid,
    xi_at_prevalences,
)
from pyclone_pgsm.tumour.options import ModelOptions

COLUMNS = [field.name for field in dataclasses.fields(Row)]


def row_at(table: LocusTable, u: int) -> Row:
    return Row(**{name: getattr(table, name)[u].item() for name in COLUMNS})


def absolute(grid: XiGrid, u: int) -> np.ndarray:
    return grid.xi[u] + grid.xi_max[u]


@st.composite
def rows(draw: st.DrawFn, deepest: int = 5000) -> Row:
    major = draw(st.integers(1, 5))
    second = draw(st.none() | st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(0.01, 0.99)))
    subclonal_major, subclonal_minor, fraction = second or (0, 0, 0.0)
    return Row(
        alt_counts=draw(st.integers(0, deepest // 2)),
        ref_counts=draw(st.integers(0, deepest // 2)),
        major_cn=major,
        minor_cn=draw(st.integers(0, major)),
        normal_cn=draw(st.sampled_from([1, 2, 2, 3])),
        tumour_content=draw(st.floats(0.05, 1.0)),
        error_rate=draw(st.sampled_from([1e-3, 1e-2, 1e-4, 0.2])),
        subclonal_major_cn=max(subclonal_major, subclonal_minor),
        subclonal_minor_cn=min(subclonal_major, subclonal_minor),
        subclonal_fraction=fraction,
    )


def groups(deepest: int = 5000) -> st.SearchStrategy[list[Row]]:
    """Rows of which several share everything but the counts, as real ones do."""
    counts = st.integers(0, deepest // 2)
    pairs = st.lists(st.tuples(counts, counts), min_size=1, max_size=4)

    def spread(row: Row, pairs: list[tuple[int, int]]) -> list[Row]:
        fixed = {name: getattr(row, name) for name in COLUMNS if name not in ("alt_counts", "ref_counts")}
        return [row, *(Row(alt_counts=alt, ref_counts=ref, **fixed) for alt, ref in pairs)]

    group = st.builds(spread, rows(deepest), pairs)
    return st.lists(group, min_size=1, max_size=2).map(lambda lists: [*itertools.chain(*lists)])


PRIORS = st.sampled_from(GENOTYPE_PRIORS)


def precisions(largest: float) -> st.SearchStrategy[float]:
    return st.floats(0.0, math.log(largest)).map(math.exp) | st.just(math.inf)


def check_against(reference, data: list[Row], grid_size: int, prior: str, precision: float) -> None:
    table = deduplicate(observations([[row] for row in data]))
    grid = likelihood_grid(loci_of(table, prior), prevalence_grid(grid_size), Setting(precision))
    for u in range(table.num_rows):
        expected = log_likelihoods(row_at(table, u), grid_size, prior, precision, reference)
        np.testing.assert_allclose(absolute(grid, u), expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(groups(80) | groups(5000), st.integers(2, 9), PRIORS, precisions(1e3))
def test_matches_scipy(data: list[Row], grid_size: int, prior: str, precision: float) -> None:
    check_against(log_pmf_scipy, data, grid_size, prior, precision)


@settings(max_examples=60, deadline=None)
@given(groups(80) | groups(5000), st.integers(2, 9), PRIORS, precisions(1e6))
def test_matches_sums_of_logs(data: list[Row], grid_size: int, prior: str, precision: float) -> None:
    check_against(log_pmf_sum, data, grid_size, prior, precision)


@pytest.mark.parametrize("precision", [1.0, 137.0, 1e4, 1e6, math.inf])
@pytest.mark.parametrize("depth", [1 << 12, 1 << 15])
def test_deep_rows(depth: int, precision: float) -> None:
    alts = [0, 3, depth // 1000, depth // 5, depth // 2, depth]
    data = [Row(alt, depth - alt, major_cn=2, minor_cn=0, tumour_content=0.8) for alt in alts]
    check_against(log_pmf_sum, data, 5, "major", precision)


@pytest.mark.parametrize("precision", [1.0, 1e3, 1e6, math.inf])
@pytest.mark.parametrize("alt", [0, 1000, 400_000])
def test_a_million_reads(alt: int, precision: float) -> None:
    data = [Row(alt, 1_000_000 - alt, major_cn=1, minor_cn=1, tumour_content=0.8)]
    check_against(log_pmf_sum, data, 3, "major", precision)


@pytest.mark.parametrize("precision", [300.0, math.inf])
@pytest.mark.parametrize("more", [-1, 1])
def test_from_some_depth_on_deviances_are_used(precision: float, more: int) -> None:
    """The two formulas agree with the reference on either side of the depth at which one takes over."""
    depth = int(kernels.DEEP) - (0 if precision == math.inf else int(precision)) + more
    data = [Row(alt, depth - alt, major_cn=2, minor_cn=1, tumour_content=0.8) for alt in (0, 7, 30_000)]
    check_against(log_pmf_sum, data, 3, "major", precision)


@pytest.mark.parametrize("error_rate", [1e-9, 1e-30, 1e-100])
@pytest.mark.parametrize("precision", [5.0, 1e5, 1e40, math.inf])
def test_tiny_error_rates(error_rate: float, precision: float) -> None:
    """Products of factors must not underflow; no value may be infinite."""
    data = [Row(alt, 20, 2, 0, 2, 0.9, error_rate) for alt in (0, 1, 5, 21, 60)]
    check_against(log_pmf_sum, data, 5, "major", precision)
    # Here 1 - mean is the error rate itself, which no subtraction from 1 can tell.
    found = absolute_of(Row(0, 3, 1, 0, 1, 1.0, error_rate), grid_size=2)
    np.testing.assert_allclose(found[1], 3 * math.log(error_rate), rtol=1e-12)


@pytest.mark.parametrize("alts", [(0, 50, 100), (0, 1500, 2000, 3000)])
def test_genotypes_that_differ_beyond_double_range(alts: tuple[int, ...]) -> None:
    """One genotype is e^1000 times as likely as another: the ratio itself would overflow."""
    data = [Row(alt, 3000 - alt, major_cn=6, minor_cn=0, tumour_content=1.0) for alt in alts]
    check_against(log_pmf_sum, data, 6, "total", math.inf)
    check_against(log_pmf_sum, data, 6, "total", 1e5)


@pytest.mark.parametrize("precision", [60.0, math.inf])
def test_rows_that_differ_in_one_thing(precision: float) -> None:
    base = Row(
        alt_counts=11, ref_counts=40, major_cn=3, minor_cn=1, normal_cn=2, tumour_content=0.8, error_rate=1e-3
    )
    others = {"major_cn": 2, "minor_cn": 0, "normal_cn": 1, "tumour_content": 0.5, "error_rate": 0.05}
    data = [base, *(dataclasses.replace(base, **{name: value}) for name, value in others.items())]
    two = dataclasses.replace(base, subclonal_major_cn=2, subclonal_minor_cn=1, subclonal_fraction=0.25)
    others = {"subclonal_major_cn": 3, "subclonal_minor_cn": 0, "subclonal_fraction": 0.75}
    data += [two, *(dataclasses.replace(two, **{name: value}) for name, value in others.items())]
    check_against(log_pmf_sum, data, 7, "major", precision)


def test_many_rows_in_one_group() -> None:
    """Dense counts and a grid of several blocks."""
    rng = np.random.default_rng(4)
    data = [Row(int(alt), int(ref), 2, 1, 2, 0.7) for alt, ref in rng.poisson((30, 60), (300, 2))]
    table = deduplicate(observations([[row] for row in data]))
    grid = likelihood_grid(loci_of(table, "major"), prevalence_grid(301), Setting(150.0))
    for u in range(0, table.num_rows, 60):
        expected = log_likelihoods(row_at(table, u), 301, "major", 150.0)
        np.testing.assert_allclose(absolute(grid, u), expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(groups(400), st.integers(2, 120), PRIORS, precisions(1e6))
def test_parts_fit_together(data: list[Row], grid_size: int, prior: str, precision: float) -> None:
    table = deduplicate(observations([[row] for row in data]))
    grid = likelihood_grid(loci_of(table, prior), prevalence_grid(grid_size), Setting(precision))
    assert grid.xi.shape == grid.likelihood.shape == (table.num_rows, grid_size)
    assert grid.xi.dtype == np.float64
    assert grid.xi.flags.c_contiguous
    assert np.isfinite(grid.xi).all()
    assert (grid.xi.max(axis=1) == 0.0).all()
    expected = np.exp(grid.xi)
    np.testing.assert_array_equal(grid.likelihood, np.where(expected < 1e-300, 0.0, expected))
    log_mean = np.log(grid.likelihood.mean(axis=1))
    np.testing.assert_allclose(make_pyclone(table.index, *grid).log_mean, log_mean, rtol=1e-14, atol=1e-15)
    masses = component_masses(prevalence_grid(grid_size, "learned"))[UNIFORM]
    log_mean = np.log(grid.likelihood @ masses)
    found = make_pyclone(table.index, *grid, masses).log_mean
    np.testing.assert_allclose(found, log_mean, rtol=1e-12, atol=1e-14)
    assert (grid.xi_max <= 1e-12).all()


@pytest.mark.parametrize("precision", [3.0, 2000.0, math.inf])
def test_probabilities_sum_to_one(precision: float) -> None:
    depth = 37
    table = deduplicate(observations([[Row(alt, depth - alt, 3, 1, 2, 0.6)] for alt in range(depth + 1)]))
    grid = likelihood_grid(loci_of(table, "parental"), prevalence_grid(11), Setting(precision))
    total = np.exp(grid.xi + grid.xi_max[:, None]).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def some_data() -> LocusTable:
    rng = np.random.default_rng(1)
    copies = [(1, 1), (2, 0), (3, 1), (2, 2)]
    data = []
    for i in range(80):
        depth = int(rng.integers(1, 400)) if i % 10 else 50_000
        alt = int(rng.binomial(depth, rng.uniform(0.0, 0.6)))
        data.append([Row(alt, depth - alt, *copies[i % 4], tumour_content=0.7)])
    return deduplicate(observations(data))


@pytest.mark.parametrize("precision", [60.0, math.inf])
def test_a_few_points_of_each_row_are_those_of_the_grid(precision: float) -> None:
    """Shallow and deep rows, some more than once, each at one of three sets of points."""
    table = some_data()
    rng = np.random.default_rng(3)
    rows = np.sort(rng.integers(table.num_rows, size=150))
    points = np.array([[0, 7, 14, 21], [50, 49, 48, 48], [3, 4, 5, 6]])
    places = rng.integers(3, size=150)
    loci = loci_of(table, "major")
    grid = likelihood_grid(loci_of(table, "major"), prevalence_grid(51), Setting(precision))
    expected = grid.xi[rows[:, None], points[places]] + grid.xi_max[rows, None]
    (xi,), (xi_max,) = xi_at_prevalences(loci, rows, points / 50, places)([Setting(precision)])
    assert (xi.max(axis=1) == 0.0).all()
    np.testing.assert_allclose(xi + xi_max[:, None], expected, rtol=1e-10, atol=1e-10)
    none, _ = xi_at_prevalences(loci, rows[:0], points / 50, places[:0])([Setting(math.inf)])
    assert none.shape == (1, 0, 4)


TWO_STATES = Row(31, 69, 1, 1, 2, 0.8, 1e-3, 3, 1, 0.3)


def absolute_of(
    row: Row, prior: str = "major", precision: float = math.inf, grid_size: int = 21
) -> np.ndarray:
    table = deduplicate(observations([[row]]))
    return absolute(likelihood_grid(loci_of(table, prior), prevalence_grid(grid_size), Setting(precision)), 0)


def test_clonal_copies_by_hand() -> None:
    """All tumour cells have 2 + 2 copies, and a share x of them the mutation."""
    row = Row(31, 69, 2, 2, 2, tumour_content=0.8, error_rate=1e-12)
    found = np.exp(absolute_of(row, "clonal"))
    for k in (4, 20):
        one, two = (stats.binom.pmf(31, 100, 0.8 * m * k / 20 / (0.2 * 2 + 0.8 * 4)) for m in (1, 2))
        expected = 0.5 * one + 0.5 * (two if k == 20 else LOOSE * two)
        np.testing.assert_allclose(found[k], expected, rtol=1e-9)


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_two_equal_states_are_one_to_the_last_bit(fraction: float) -> None:
    one = Row(31, 69, 3, 1, 2, 0.8)
    two = dataclasses.replace(one, subclonal_major_cn=3, subclonal_minor_cn=1, subclonal_fraction=fraction)
    assert absolute_of(two).tobytes() == absolute_of(one).tobytes()


@pytest.mark.parametrize("prior", ["ab", "bb", "no-zygosity"])
def test_priors_without_copy_numbers_see_one_state(prior: str) -> None:
    one = dataclasses.replace(TWO_STATES, subclonal_major_cn=0, subclonal_minor_cn=0, subclonal_fraction=0.0)
    assert absolute_of(TWO_STATES, prior).tobytes() == absolute_of(one, prior).tobytes()
    assert np.isfinite(absolute_of(dataclasses.replace(one, major_cn=0, minor_cn=0), prior)).all()


@pytest.mark.parametrize("prior", ["major", "parental", "total", "clonal"])
@pytest.mark.parametrize("second", [(3, 1), (2, 0), (1, 0), (0, 0)])
def test_it_does_not_matter_which_state_is_called_the_second(prior: str, second: tuple[int, int]) -> None:
    one = dataclasses.replace(TWO_STATES, subclonal_major_cn=second[0], subclonal_minor_cn=second[1])
    other = dataclasses.replace(
        one,
        major_cn=second[0],
        minor_cn=second[1],
        subclonal_major_cn=1,
        subclonal_minor_cn=1,
        subclonal_fraction=0.7,
    )
    for precision in (40.0, math.inf):
        np.testing.assert_allclose(
            absolute_of(one, prior, precision), absolute_of(other, prior, precision), rtol=1e-12, atol=1e-12
        )


def test_a_second_state_in_hardly_any_cell() -> None:
    """Where the first state is the normal one the limit is the model of one state."""
    rare = dataclasses.replace(TWO_STATES, subclonal_fraction=1e-9)
    one = dataclasses.replace(TWO_STATES, subclonal_fraction=0.0)
    np.testing.assert_allclose(absolute_of(rare), absolute_of(one), atol=1e-6)


def test_two_states_by_hand() -> None:
    """Pure tumour, 30 % of the cells with 3 + 1 copies: 2.6 copies a cell on average."""
    row = dataclasses.replace(TWO_STATES, tumour_content=1.0, error_rate=1e-12)
    found = np.exp(absolute_of(row))

    def expected(within: list[float], without: list[float], within_loose: list[float]) -> float:
        """Mutant copies a cell on average: first in cells with 3 + 1 copies, first in others, and the loose."""
        strict = np.mean([stats.binom.pmf(31, 100, mutant / 2.6) for mutant in within + without])
        loose = np.mean([stats.binom.pmf(31, 100, mutant / 2.6) for mutant in within_loose])
        return (1 - LOOSE) * strict + LOOSE * loose

    # 20 % of the cells: in some with 3 + 1 copies or some others, on one copy as it is younger than the state
    one = expected([0.2] * 3, [0.2] * 3, [0.2, 0.4, 0.6, 0.2, 0.2, 0.2])
    np.testing.assert_allclose(found[4], one, rtol=1e-8)
    # 80 %: all cells with 3 + 1 copies, on any number, and 50 % of the others; or all others and 10 % with 3 + 1
    within = [0.3 * m + 0.5 for m in (1, 2, 3)]
    two = expected(within, [0.7 + 0.1] * 3, [*within, *(0.7 + 0.1 * m for m in (1, 2, 3))])
    np.testing.assert_allclose(found[16], two, rtol=1e-8)
    # in all cells
    three = [0.7 + 0.3 * m for m in (1, 2, 3)]
    np.testing.assert_allclose(found[20], expected(three, three, three * 2), rtol=1e-8)


@pytest.mark.parametrize("depth", [100, 1 << 16])
def test_cells_without_a_copy_say_nothing(depth: int) -> None:
    """Beyond the share of the cells that have a copy, a prevalence makes no difference."""
    row = Row(depth // 5, depth - depth // 5, 1, 1, 2, 0.8, 1e-3, 0, 0, 0.4)
    found = absolute_of(row)
    assert len(np.unique(found[:13])) == 13
    np.testing.assert_allclose(found[12:], found[12], rtol=1e-12)
    np.testing.assert_allclose(
        found[12], stats.binom.logpmf(row.alt_counts, depth, mean(0.48, 1.36)), rtol=1e-9
    )


def mean(mutant: float, copies: float) -> float:
    """Share of variant reads with one mutant copy of two in these cells, 0.8 x 0.6, at an error rate of 0.001."""
    return (mutant * 2 * 0.5 + (copies - mutant * 2) * 1e-3) / copies


def test_very_many_copies_in_both_states() -> None:
    row = Row(31, 69, 1000, 500, 2, 0.8, 1e-3, 900, 2, 0.3)
    assert np.isfinite(absolute_of(row, "total", grid_size=3)).all()
    check_against(log_pmf_sum, [dataclasses.replace(row, major_cn=9, minor_cn=4)], 7, "total", 50.0)


def test_large_precision_approaches_the_binomial() -> None:
    table = some_data()
    binomial = likelihood_grid(loci_of(table, "major"), prevalence_grid(51), Setting(math.inf))
    gaps = []
    for precision in (1e6, 1e8, 1e10):
        near = likelihood_grid(loci_of(table, "major"), prevalence_grid(51), Setting(precision))
        gaps.append(np.abs(near.likelihood - binomial.likelihood).max())
    # The first-order term is n^2/s, so a hundred times the precision is a hundredth of the gap.
    assert gaps[0] < 0.1
    np.testing.assert_allclose(gaps[1] / gaps[0], 0.01, rtol=0.2)
    np.testing.assert_allclose(gaps[2] / gaps[1], 0.01, rtol=0.2)


def test_zero_depth_is_flat() -> None:
    found = absolute_of(Row(0, 0, 3, 1), precision=50.0, grid_size=5)
    np.testing.assert_allclose(found, 0.0, atol=1e-15)


@pytest.mark.parametrize("precision", [3.0, 2000.0, math.inf])
def test_probabilities_of_two_states_sum_to_one(precision: float) -> None:
    depth = 37
    data = [Row(alt, depth - alt, 2, 1, 2, 0.6, 1e-3, 4, 2, 0.45) for alt in range(depth + 1)]
    table = deduplicate(observations([[row] for row in data]))
    grid = likelihood_grid(loci_of(table, "major"), prevalence_grid(11), Setting(precision))
    total = np.exp(grid.xi + grid.xi_max[:, None]).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_rows_need_not_be_sorted() -> None:
    table = some_data()
    order = np.random.default_rng(2).permutation(table.num_rows)
    shuffled = LocusTable(**{name: getattr(table, name)[order] for name in COLUMNS}, index=table.index)
    sorted_grid = likelihood_grid(loci_of(table, "major"), prevalence_grid(21), Setting(300.0))
    shuffled_grid = likelihood_grid(loci_of(shuffled, "major"), prevalence_grid(21), Setting(300.0))
    np.testing.assert_allclose(shuffled_grid.xi, sorted_grid.xi[order], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(shuffled_grid.xi_max, sorted_grid.xi_max[order], rtol=1e-10, atol=1e-10)


def test_threads_do_not_disturb_each_other() -> None:
    table = some_data()
    values = [10.0, 100.0, 1000.0, math.inf] * 3

    def compute(precision: float) -> XiGrid:
        return likelihood_grid(loci_of(table, "major"), prevalence_grid(101), Setting(precision))

    alone = {precision: compute(precision) for precision in set(values)}
    with ThreadPoolExecutor(4) as pool:
        for precision, grid in zip(values, pool.map(compute, values), strict=True):
            np.testing.assert_array_equal(grid.xi, alone[precision].xi)


def test_runs_uncompiled() -> None:
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from xi_reference import Row, observations
from pyclone_pgsm.tumour.grid import Setting, deduplicate, likelihood_grid, loci_of, prevalence_grid
import numpy as np
data = [Row(5, 9, 2, 0), Row(30, 10, 2, 0), Row(2, 0), Row(9000, 40000), Row(900, 100, 9, 0),
        Row(5, 9, 2, 0, 2, 0.9, 1e-3, 1, 1, 0.4)]
table = deduplicate(observations([[row] for row in data]))
for precision in (40.0, np.inf):
    grid = likelihood_grid(loci_of(table, "total"), prevalence_grid(4), Setting(precision))
    print(*(value.hex() for value in (grid.xi + grid.xi_max[:, None]).ravel()))
"""
    outputs = []
    for disabled in ("0", "1"):
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled}
        command = [sys.executable, "-c", program, str(Path(__file__).parent)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        outputs.append([float.fromhex(word) for word in done.stdout.split()])
    assert len(outputs[0]) == 48
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-11, atol=1e-11)


def test_no_data_at_all() -> None:
    table = deduplicate(observations([[None, None]]))
    assert table.num_rows == 0
    np.testing.assert_array_equal(table.index, [[-1, -1]])
    grid = likelihood_grid(loci_of(table, "major"), prevalence_grid(7), Setting(math.inf))
    assert grid.xi.shape == (0, 7)


def assert_sorted(unique: list[Row]) -> None:
    keys = [
        (
            *(
                r.major_cn,
                r.minor_cn,
                r.normal_cn,
                r.subclonal_major_cn,
                r.subclonal_minor_cn,
                r.subclonal_fraction,
            ),
            *(r.tumour_content, r.error_rate, r.alt_counts + r.ref_counts, r.alt_counts),
        )
        for r in unique
    ]
    assert keys == sorted(set(keys))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda samples: st.lists(
            st.lists(st.none() | rows(12), min_size=samples, max_size=samples), min_size=1, max_size=12
        )
    )
)
def test_interning_reconstructs(data: list[list[Row | None]]) -> None:
    table = deduplicate(observations(data))
    assert table.index.dtype == np.int32
    assert table.index.shape == (len(data), len(data[0]))
    for i, mutation in enumerate(data):
        for d, row in enumerate(mutation):
            u = table.index[i, d]
            assert row is None if u == -1 else row_at(table, u) == row.deduplicated
    unique = [row_at(table, u) for u in range(table.num_rows)]
    assert set(unique) == {row.deduplicated for mutation in data for row in mutation if row is not None}
    assert_sorted(unique)


def test_interning_survives_huge_values() -> None:
    """The product of the columns' ranges exceeds 64 bits."""
    big = 2**40
    data = [Row(big * a, big * r, major_cn=m) for a in (0, 3) for r in (0, 5) for m in (1, big)]
    table = deduplicate(observations([[row] for row in data + data]))
    assert table.num_rows == 8
    assert [row_at(table, u) for u in table.index[:, 0]] == data + data
    assert_sorted([row_at(table, u) for u in range(8)])


def test_prevalence_grid() -> None:
    np.testing.assert_array_equal(prevalence_grid(5), [0.0, 0.25, 0.5, 0.75, 1.0])
    assert prevalence_grid(1601)[-1] == 1.0


def test_steps_of_a_learned_prior_are_proportional_to_the_standard_deviation() -> None:
    for grid_size in (2, *range(11, 300), 1601, 10_001):
        grid = prevalence_grid(grid_size, "learned")
        assert (grid[0], grid[-1]) == (0.0, 1.0)
        p = 0.9999 * grid + 0.0001 * (1 - grid)
        np.testing.assert_allclose(
            np.diff(np.arcsin(np.sqrt(p))),
            (np.pi / 2 - 2 * np.arcsin(np.sqrt(0.0001))) / (grid_size - 1),
            rtol=1e-9,
        )


def chosen(
    mutations: int,
    depths: list[int],
    num_rows: int = 10,
    locus: Row = Row(0, 0),  # noqa: B008
    **options: Any,
) -> int:
    """The size for mutations at equal loci, with these depths in the samples."""
    return choose_grid_size(at_equal_loci(mutations, depths, locus), num_rows, **options)


def at_equal_loci(mutations: int, depths: list[int], locus: Row) -> Observations:
    rows = [
        dataclasses.replace(locus, alt_counts=depth // 4, ref_counts=depth - depth // 4) for depth in depths
    ]
    data = observations([[row if row.alt_counts + row.ref_counts else None for row in rows]])
    repeated = {
        field.name: np.repeat(getattr(data, field.name), mutations, axis=0)
        for field in dataclasses.fields(data)
        if field.name not in ("mutation_ids", "sample_ids", "annotations")
    }
    return type(data)([str(i) for i in range(mutations)], data.sample_ids, **repeated)


def test_grid_size_grows_with_depth_and_mutations() -> None:
    for mutations in (1, 20, 400, 10_000):
        sizes = [chosen(mutations, [depth]) for depth in (10, 100, 1000, 10_000)]
        assert sizes == sorted(sizes)
    for depth in (10, 100, 1000, 10_000):
        sizes = [chosen(mutations, [depth]) for mutations in (1, 20, 400, 10_000)]
        assert sizes == sorted(sizes)
    assert chosen(1, [10]) == GRID_SIZES[0]
    assert chosen(100_000, [10_000]) == GRID_SIZES[-1]


@pytest.mark.parametrize("error_rate", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize(("content", "normal"), [(1.0, 2), (0.7, 2), (0.3, 2), (1.0, 1)])
def test_a_cluster_between_two_points_of_the_grid_loses_little(
    error_rate: float, content: float, normal: int
) -> None:
    """A quarter of all mutations: the log marginal likelihood, against an integral, half-way between two points.

    Half of the copies, or fewer, or all (one copy in a pure tumour) have the mutation in the tumour's cells.
    """
    mutations, depth = 100, 1000
    share = content / normal
    locus = Row(0, 0, major_cn=1, minor_cn=normal - 1, tumour_content=content)

    def loss(prior: str, prevalence: float) -> float:
        grid = prevalence_grid(chosen(4 * mutations, [depth], locus=locus, prevalence_prior=prior), prior)
        place = np.searchsorted(grid, prevalence)
        phi = grid[place - 1 : place + 1].mean()

        def variants(x: Any) -> Any:
            return share * x * (1 - error_rate) + (1 - share * x) * error_rate

        def log_likelihood(x: NDArray[np.float64]) -> NDArray[np.float64]:
            p, q = variants(phi), variants(x)
            return mutations * depth * (p * np.log(q / p) + (1 - p) * np.log((1 - q) / (1 - p)))

        fine = np.linspace(0, 1, 400_001)
        integral = np.trapezoid(np.exp(log_likelihood(fine)), fine)
        return float(np.log(integral) - np.log(np.diff(cell_ends(grid)) @ np.exp(log_likelihood(grid))))

    prevalences = (0.0002, 0.0005, 0.002, 0.01, 0.05, 0.2, 0.5, 0.9, 0.98, 0.998)
    assert max(abs(loss("learned", prevalence)) for prevalence in prevalences) < 0.2
    assert loss("uniform", 0.2) < 0.2  # equal steps are small enough here, but not for smaller prevalences
    assert loss("uniform", 0.004) > 1.0


def test_grid_size_by_hand() -> None:
    # 100 of 400 mutations at depth 100: 2.4 x 0.6 / sqrt(10,000) = 0.0144: a step of 1/100 will do ...
    assert chosen(400, [100]) == 101
    # ... but not for 300 of 1,200: 0.0083.
    assert chosen(1200, [100]) == 151
    # A single mutation counts as one, not as a quarter.
    assert chosen(1, [20_700]) == 101
    assert chosen(1, [20_800]) == 151
    # The best-covered sample decides, and a sample without data says nothing.
    assert chosen(1200, [10, 100, 0]) == 151


def test_grid_size_depends_on_tumour_content_and_copy_numbers() -> None:
    # Of the reads of a mutation in a fifth of the tumour cells 10 % show the variant in a pure diploid sample, 1 % if a
    # tenth of the cells are tumour cells, and 5 % with four copies in them. The information of a read is 2.78, 0.25 and
    # 1.32: 300 of 1,200 mutations at depth 100 need steps of 0.0083, 0.028 and 0.012.
    assert chosen(1200, [100], locus=Row(0, 0)) == 151
    assert chosen(1200, [100], locus=Row(0, 0, tumour_content=0.1)) == 101
    assert chosen(1200, [100], locus=Row(0, 0, major_cn=2, minor_cn=2)) == 101
    # A step of 1/200 will do for 27 times as many mutations with a tumour content of a tenth.
    assert chosen(33_000, [100], locus=Row(0, 0, tumour_content=0.1)) == 201
    assert chosen(38_000, [100], locus=Row(0, 0, tumour_content=0.1)) == 301


def test_grid_size_of_a_learned_prior_by_hand() -> None:
    """A step of theta, whose range is pi - 4 sqrt(0.0001), is one of 0.4 times as much at the prevalence 0.2."""
    for size, next_size in itertools.pairwise(GRID_SIZES[:5]):
        step = 0.4 * (math.pi - 4 * math.sqrt(0.0001)) / (size - 1)
        mutations = (2.4 * 0.6 / step) ** 2 / 25  # a quarter of them, at depth 100
        assert chosen(int(0.97 * mutations), [100], prevalence_prior="learned") == size
        assert chosen(int(1.03 * mutations), [100], prevalence_prior="learned") == next_size


@pytest.mark.parametrize("prior", ["ab", "bb", "no-zygosity"])
def test_grid_size_sees_copies_as_the_prior_does(prior: str) -> None:
    for copies in (0, 1, 2):
        data = at_equal_loci(
            1200, [100], Row(0, 0, copies, copies, subclonal_major_cn=3, subclonal_fraction=0.5)
        )
        assert ModelOptions(prior, prevalence_prior="uniform").resolve(data).grid_size == 151
    assert ModelOptions(prevalence_prior="uniform").resolve(data).grid_size == 101


def test_grid_size_where_most_tumour_cells_have_no_copy() -> None:
    # A read tells as much as where each of them has one copy, 1 / (0.2 x 0.8), not infinity or less than nothing: 300
    # of 1,200 mutations at depth 100 need a step of 0.0055.
    for fraction in (0.1, 0.4):
        for content in (1.0, 0.95):
            lost = Row(0, 0, 0, 0, 2, content, 1e-3, 1, 0, fraction)
            assert chosen(1200, [100], locus=lost) == 201


def test_grid_size_is_capped_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(100_000, [1000], num_rows=1000) == 1601
    for most, expected in ((16 * 1000 * 1601, 1601), (16 * 1000 * 1600, 1201), (1, 101)):
        monkeypatch.setattr(tumour_grid, "MAX_BYTES", most)
        assert chosen(100_000, [1000], num_rows=1000) == expected


def test_grid_size_without_data() -> None:
    assert chosen(3, [0, 0]) == 101
