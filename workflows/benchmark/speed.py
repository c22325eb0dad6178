"""What an iteration, a million mutations and a start cost, on one thread.

    python speed.py [floor] [grid] [million] [start]

Without a name all parts are measured, each in a process of its own. Times of iterations are processor time of
the one thread that works, which other programs on the machine disturb less than wall time. See README.md
beside this file.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["VECLIB_MAXIMUM_THREADS"] = "1"

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.partition import PartitionPrior, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.anchors import uniform_anchors
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.split_merge import split_merge
from pyclone_pgsm.sampling.chain import advance, rebuild_interval, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import draw_alt_counts, draw_genotypes, simulate, variant_share
from pyclone_pgsm.tumour.grid import choose_grid_size, deduplicate
from pyclone_pgsm.tumour.model import PyCloneModel

PARTICLES, THRESHOLD = 20, 0.5
SETTINGS = SMCSettings(PARTICLES, THRESHOLD, True, SCHEMES.index("multinomial"))
SETTLING, MEASURED, ROUNDS = 300, 100, 10
LARGE = 10_000
CASES = ((1, 18), (4, 8), (4, 15))
"""Samples and true clusters of the tumours of `LARGE` mutations."""
GRIDS = (101, 401, 1601)
FIXED = 1.0
MILLION = 1_000_000
SKIPPED, TIMED = 5, 30
FOUR_STATES = ((1, 1), (2, 1), (1, 0), (2, 2))
EXAMPLE = Path(__file__).parents[2] / "example_data" / "tumour.tsv"


@dataclass
class Timing:
    """Seconds of the measured iterations of a chain.

    Attributes
    ----------
    sweep, move : list of float
        Of each iteration: the Gibbs sweep, the split-merge move.
    moved : list of float
        Share of the mutations that changed their cluster in the sweep.
    clusters : list of int
    """

    sweep: list[float] = field(default_factory=list)
    move: list[float] = field(default_factory=list)
    moved: list[float] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)

    @property
    def iteration(self) -> NDArray[np.float64]:
        """Sweep and move together."""
        return np.array(self.sweep) + np.array(self.move)


def tumour(samples: int, clusters: int, seed: int = 1) -> Observations:
    """`LARGE` mutations, diploid, pure, depth 100, binomial; clusters equally large, prevalences uniform."""
    options = SimulationOptions(
        mutations=LARGE,
        samples=samples,
        clusters=clusters,
        purity=1.0,
        cluster_sizes="equal",
        clonal=False,
        absent=0.0,
    )
    return simulate(options, np.random.default_rng(seed)).observations


def run_chain(
    model: PyCloneModel,
    labels: NDArray[np.int32],
    settling: int,
    measured: int,
    between: Callable[[int], None] = lambda clusters: None,
    concentration: float | None = None,
    seed: int = 1,
) -> Timing:
    """Iterations of the sampler ``mixed`` (uniform anchors, annealed targets), the last ones timed.

    Parameters
    ----------
    model : PyCloneModel
    labels : (T,) int32
        Clusters at the start.
    settling, measured : int
        Iterations before the clock starts, and those that are timed.
    between : callable
        Called with the number of clusters, about `ROUNDS` times among the timed iterations.
    concentration : float or None
        Of the Dirichlet process; None infers it.
    seed : int
    """
    likelihood, T = model.likelihood(model.initial_values()), model.num_observations
    build, sweep, move = (compiled_for(each, PyClone) for each in (build_partition, gibbs_sweep, split_merge))
    rng = np.random.default_rng(seed)
    prior = DirichletProcess(concentration or 1.0)
    log_tau2 = prior.log_tau2(T)
    pool = make_block_pool(PARTICLES, likelihood.stat_size())
    rebuild = rebuild_interval(model, likelihood.index.shape[1])
    partition = build(likelihood, labels)
    timing = Timing()
    for iteration in range(settling + measured):
        if iteration % rebuild == 0:
            partition = build(likelihood, partition.labels)
        tables = PartitionPrior(prior.log_tau1(T), log_tau2)
        started = time.thread_time()
        partition, moved = sweep(likelihood, tables, partition, model.order, rng)
        swept = time.thread_time()
        anchors = uniform_anchors(T, 2, rng)
        partition, _, _ = move(likelihood, tables, partition, anchors, SETTINGS, pool, rng)
        ended = time.thread_time()
        clusters = int(partition.counter[0])
        if concentration is None:
            prior = prior.resample(partition.sizes[partition.sizes > 0], rng)
        if iteration >= settling:
            timing.sweep.append(swept - started)
            timing.move.append(ended - swept)
            timing.moved.append(moved / T)
            timing.clusters.append(clusters)
            if (iteration - settling) % max(1, measured // ROUNDS) == 0:
                between(clusters)
    return timing


def binomial_model(observations: Observations, grid_size: int) -> PyCloneModel:
    """The model without overdispersion."""
    return PyCloneModel(deduplicate(observations), grid_size, "major", np.inf)


class Floor:
    """Times the bare BLAS product of all T x K x G dot products of a model's likelihood, D times."""

    def __init__(self, likelihood: PyClone) -> None:
        self.rows = [likelihood.likelihood[column] for column in likelihood.index.T]
        self.seconds: list[float] = []

    def __call__(self, clusters: int) -> None:
        posterior = np.random.default_rng(0).random((self.rows[0].shape[1], clusters))
        product = np.empty((len(self.rows[0]), clusters))
        for _ in range(3):
            started = time.thread_time()
            for rows in self.rows:
                np.matmul(rows, posterior, out=product)
            self.seconds.append(time.thread_time() - started)


def row(*cells: object) -> None:
    """A row of a markdown table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def header(*names: str) -> None:
    """The head of a markdown table."""
    row(*names)
    print("|" + "---:|" * len(names), flush=True)


def milliseconds(seconds: Sequence[float] | NDArray[np.float64]) -> str:
    """Mean and median."""
    return f"{np.mean(seconds) * 1e3:.2f} ({np.median(seconds) * 1e3:.2f})"


def measure_floor() -> None:
    """Settled iterations at 101 points against the bare product of all dot products."""
    print(f"{LARGE} mutations, 101 points; milliseconds: mean (median) of {MEASURED} settled iterations")
    header("samples", "true clusters", "K", "moved", "sweep", "move", "iteration", "floor", "ratio")
    for samples, clusters in CASES:
        model = binomial_model(tumour(samples, clusters), 101)
        floor = Floor(model.likelihood(()))
        timing = run_chain(model, np.zeros(LARGE, np.int32), SETTLING, MEASURED, floor)
        mean = timing.iteration.mean() / np.mean(floor.seconds)
        median = np.median(timing.iteration) / np.median(floor.seconds)
        row(
            samples,
            clusters,
            f"{np.mean(timing.clusters):.1f}",
            f"{np.mean(timing.moved):.1%}",
            milliseconds(timing.sweep),
            milliseconds(timing.move),
            milliseconds(timing.iteration),
            milliseconds(floor.seconds),
            f"{mean:.1f} ({median:.1f})",
        )


def measure_grid() -> None:
    """The same iterations on finer grids.

    The concentration is fixed: with one sample it and the number of clusters wander over a wide posterior, and chains
    of equal length would be compared at different numbers of clusters.
    """
    print(
        f"{LARGE} mutations, concentration {FIXED:g}; milliseconds: mean (median) of {MEASURED} settled iterations"
    )
    header("samples", "true clusters", "points", "K", "moved", "sweep", "move", "iteration", "to the first")
    for samples, clusters in CASES:
        observations = tumour(samples, clusters)
        first = 0.0
        for points in GRIDS:
            model = binomial_model(observations, points)
            timing = run_chain(model, np.zeros(LARGE, np.int32), SETTLING, MEASURED, concentration=FIXED)
            first = first or float(timing.iteration.mean())
            row(
                samples,
                clusters,
                points,
                f"{np.mean(timing.clusters):.1f}",
                f"{np.mean(timing.moved):.1%}",
                milliseconds(timing.sweep),
                milliseconds(timing.move),
                milliseconds(timing.iteration),
                f"{timing.iteration.mean() / first:.2f}",
            )


def whole_genome(rng: np.random.Generator) -> tuple[Observations, NDArray[np.int32]]:
    """A million mutations in one sample of purity 0.8 at depth 60; and their 10 true clusters."""
    T = MILLION
    copies = np.column_stack([np.array(FOUR_STATES)[rng.integers(len(FOUR_STATES), size=T)], np.full(T, 2)])
    major, minor, normal = copies.T
    cluster = rng.integers(10, size=T).astype(np.int32)
    prevalence = np.append(1.0, rng.random(9))
    share = variant_share(draw_genotypes(copies, rng), prevalence[cluster], 0.8, 0.001)
    depth = rng.poisson(60, T)
    alt = draw_alt_counts(depth, share, np.inf, rng)

    def column(values: NDArray) -> NDArray:
        return np.asarray(values).reshape(T, 1)

    observations = Observations(
        mutation_ids=[f"m{number}" for number in range(T)],
        sample_ids=["S1"],
        ref_counts=column(depth - alt),
        alt_counts=column(alt),
        major_cn=column(major),
        minor_cn=column(minor),
        normal_cn=column(normal),
        tumour_content=np.full((T, 1), 0.8),
        error_rate=np.full((T, 1), 0.001),
        has_data=column(depth > 0),
    )
    return observations, cluster


def peak_memory() -> float:
    """Of this process so far, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def measure_million() -> None:
    """A million mutations: iterations from the true clusters on, at 101 points and on the automatic grid."""
    observations, cluster = whole_genome(np.random.default_rng(1))
    table = deduplicate(observations)
    automatic = choose_grid_size(observations, table.num_rows)
    print(
        f"{MILLION} mutations, 1 sample, depth 60, {len(FOUR_STATES)} copy-number states, {table.num_rows} "
        f"distinct observations, automatic grid {automatic};\n{TIMED} iterations after {SKIPPED} from the "
        "true clusters. inferred: wall time of a whole iteration of `analyze`, updates of the precision too"
    )
    header("density", "points", "K", "moved", "sweep s", "move s", "iteration s, mean (most)", "peak GB")
    for points in (101, automatic):
        timing = run_chain(PyCloneModel(table, points, "major", np.inf), cluster, SKIPPED, TIMED)
        row(
            "binomial",
            points,
            f"{np.mean(timing.clusters):.1f}",
            f"{np.mean(timing.moved):.1%}",
            f"{np.mean(timing.sweep):.2f}",
            f"{np.mean(timing.move):.2f}",
            f"{timing.iteration.mean():.2f} ({timing.iteration.max():.2f})",
            f"{peak_memory():.2f}",
        )
    model = PyCloneModel(table, automatic, "major", None)
    clusters, seconds = whole_iterations(model, cluster)
    row(
        "inferred",
        automatic,
        f"{np.mean(clusters):.1f}",
        "",
        "",
        "",
        f"{np.mean(seconds):.2f} ({max(seconds):.2f})",
        f"{peak_memory():.2f}",
    )


def whole_iterations(model: PyCloneModel, labels: NDArray[np.int32]) -> tuple[list[int], list[float]]:
    """Clusters and wall seconds of the iterations of a chain, after `SKIPPED`."""
    settings = Settings(iterations=SKIPPED + TIMED, burn_in=SKIPPED, chains=1).resolve(len(labels))
    state = replace(start_chain(model, DirichletProcess(1.0), settings, 0), labels=labels)
    _, records, _ = advance(model, settings, state, rebuild_interval(model), lambda _: False)
    return records.num_clusters[SKIPPED:], records.seconds[SKIPPED:]


def time_starts(what: str, arguments: Sequence[str], environment: dict[str, str], repeats: int = 5) -> None:
    """A row with the median wall and processor seconds of whole processes of the program."""
    program = [sys.executable, "-c", "from pyclone_pgsm.__main__ import main; main()"]
    wall, processor = [], []
    for _ in range(repeats):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([*program, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall.append(time.perf_counter() - started)
        processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    row(what, repeats, f"{np.median(wall):.2f}", f"{np.median(processor):.2f}")


def measure_start() -> None:
    """Starts of the program: help, version, the first after installation, and a second."""
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", str(EXAMPLE), "-q", "--force", "--iterations", "1", "--burn-in", "0", "--chains", "1"]
        run += ["-o", f"{folder}/trace.h5"]
        analyze = ["analyze", str(EXAMPLE), "-q", "--force", "--iterations", "2", "--chains", "1"]
        analyze += ["-o", f"{folder}/out"]
        header("what", "starts", "wall s, median", "processor s, median")
        for option in ("--help", "--version"):
            time_starts(option, [option], dict(os.environ))
        for what, arguments in (("run, 1 iteration", run), ("analyze, 2 iterations, pictures", analyze)):
            environment = {**os.environ, "PYCLONE_PGSM_CACHE_DIR": f"{folder}/{arguments[0]}-cache"}
            time_starts(f"{what}: first start, compiles", arguments, environment, repeats=1)
            time_starts(f"{what}: later starts", arguments, environment)


PARTS = {"floor": measure_floor, "grid": measure_grid, "million": measure_million, "start": measure_start}


def main() -> None:
    """Measure the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all without a name")
    parts = parser.parse_args().parts or list(PARTS)
    for part in parts:
        if part not in PARTS:
            parser.error(f"{part!r}: must be one of {', '.join(PARTS)}")
    if len(parts) == 1:
        PARTS[parts[0]]()
        return
    for part in parts:
        print(f"\n## {part}\n", flush=True)
        subprocess.run([sys.executable, __file__, part], check=True)


if __name__ == "__main__":
    main()
