"""What memory a run will need is told before it begins, and a run that needs more than there is is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from pyclone_pgsm.analyses import memory
from pyclone_pgsm.analyses.matrix import MatrixAnalysis
from pyclone_pgsm.analyses.memory import Estimate, check_memory, estimate
from pyclone_pgsm.analyses.plan import Plan, with_processes
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.bernoulli import Bernoulli
from pyclone_pgsm.likelihoods.choice import Visits
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.machine import available
from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour.model import PER_SAMPLE, PyCloneModel
from pyclone_pgsm.tumour.options import ModelOptions

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_runs import matrix, run_matrix, tumour, write_tumour

GIGABYTE = 1 << 30


def zeros(T: int, D: int) -> DataMatrix:
    return DataMatrix(["r"] * T, ["x"] * D, np.broadcast_to(0.0, (T, D)))


def of_matrix(
    T: int,
    D: int,
    threads: int = 2,
    likelihood: str = "normal",
    parameters: dict[str, str] | None = None,
    **settings: object,
) -> Estimate:
    resolved = Settings(**settings).resolve(T)  # type: ignore[arg-type]
    return estimate(MatrixData(zeros(T, D), MatrixOptions(likelihood, parameters or {})), resolved, threads)


def test_few_rows_of_many_columns() -> None:
    """Clustering 10 rows of 5,000 columns was measured to take 2.9 GB, and on another machine 4.2."""
    assert 4.2 / 1.5 < of_matrix(10, 5000).total / GIGABYTE < 2.9 * 1.5


def test_what_grows_with_what() -> None:
    small = of_matrix(1000, 10)
    assert of_matrix(1000, 10, threads=1).blocks == small.blocks // 2
    assert of_matrix(1000, 10, particles=200).particles > 4 * small.particles
    single = of_matrix(1000, 10, init="single")
    assert of_matrix(1000, 10, init="disconnected").blocks > 40 * single.blocks
    assert (
        of_matrix(1000, 10, init="random_labels:v2.tsv").blocks == single.blocks
    )  # a file, whatever its name
    assert 2 * single.blocks < small.blocks < 3 * single.blocks  # chains start apart, one with 50 clusters
    assert (
        of_matrix(1000, 10, particles=200, anchors=20).particles
        > 9 * of_matrix(1000, 10, particles=200).particles
    )
    assert of_matrix(1000, 10, sampler="gibbs").particles == 0
    assert of_matrix(1000, 10, parameters={"scale": "infer"}).data > 3 * small.data
    assert of_matrix(1_000_000, 10).labels > 100 * small.labels


def test_of_a_tumour() -> None:
    data = tumour()
    settings = Settings().resolve(data.num_mutations)
    inferred, fixed = (
        ModelOptions(precision=s, grid_size=1001, prevalence_prior="uniform").resolve(data)
        for s in (None, 200.0)
    )
    known = replace(data, error_rate=np.full(data.error_rate.shape, 1e-3))
    least = estimate(TumourData(known, [], fixed), settings, 2).tables
    assert least * 20 < estimate(TumourData(data, [], inferred), settings, 2).tables
    likelihood = fixed.make_model(data).likelihood((1e-3,) if np.isnan(data.error_rate).any() else ())
    needed = estimate(TumourData(data, [], fixed), settings, 1)
    assert needed.blocks % (8 * likelihood.stat_size()) < 8 * data.num_samples * 200


@pytest.mark.parametrize(
    ("infers_error_rate", "options"),
    [
        (False, {}),
        (True, {}),
        (True, {"density": "binomial"}),
        (False, {"precision": PER_SAMPLE}),
        (False, {"tumour_content": Uncertain(0.7, 0.1)}),
    ],
)
@pytest.mark.parametrize("keeps_all", [True, False])
def test_tables_that_a_chain_makes(
    keeps_all: bool, infers_error_rate: bool, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need less than the estimate, and more than two thirds of it where all are kept and each is needed."""
    if not keeps_all:
        monkeypatch.setattr(tumour_model, "CACHED_BYTES", 0)
    made = []

    def sum_bytes(name: str, arrays_of: Callable[[Any], list[NDArray[np.float64]]]) -> None:
        make = getattr(PyCloneModel, name)

        def counting(model: PyCloneModel, key: object) -> object:
            found = make(model, key)
            made.append(sum(array.nbytes for array in arrays_of(found)))
            return found

        monkeypatch.setattr(PyCloneModel, name, counting)

    sum_bytes("_assemble", lambda tables: [tables.xi, tables.likelihood, tables.low, tables.high])
    sum_bytes("_make_known_cells", lambda known: [known._values])
    data = tumour()
    data.error_rate[:] = np.nan if infers_error_rate else 1e-3
    resolved = ModelOptions(grid_size=101, **options).resolve(data)  # type: ignore[arg-type]
    needed = estimate(TumourData(data, [], resolved), Settings().resolve(data.num_mutations), 1).tables
    model = resolved.make_model(data)
    values = model.initial_values()
    likelihood = model.likelihood(values)
    partition = compiled_for(build_partition, PyClone)(likelihood, np.zeros(data.num_mutations, np.int32))
    rng, independence = np.random.default_rng(1), Visits(model.choices).independence
    model.draw_given_parameters(values, likelihood, partition, independence, rng, True)
    if keeps_all and not infers_error_rate and not options:
        for value in model.choices[0].values:
            model.likelihood((value, *values[1:]))
        assert needed < 1.5 * sum(made)
    assert made
    assert sum(made) < needed


@pytest.mark.parametrize("D", [1, 2, 7, 40])
def test_lengths_of_statistics(D: int) -> None:
    for likelihood, kind in (("normal", Normal), ("bernoulli", Bernoulli)):
        size = kind.from_data(np.zeros((5, D))).stat_size()
        needed = MatrixAnalysis().footprint(MatrixData(zeros(5, D), MatrixOptions(likelihood, {})))
        assert needed.stat_size == pytest.approx(size, abs=4)


def test_a_run_is_refused_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 100 << 20)
    table, out = write_tumour(tmp_path), tmp_path / "out"
    result = CliRunner().invoke(cli.app, ["analyze", str(table), "-o", str(out)])
    assert result.exit_code == 2
    assert "this run needs about 0." in result.stderr
    assert "and 0.1 GB are available: " in result.stderr
    assert not out.exists()
    with pytest.raises(UsageError, match="of memory"):
        run_matrix(tmp_path / "t.h5")


@pytest.mark.parametrize(
    ("part", "remedy"),
    [
        ("tables", "`grid_size`"),
        ("blocks", "`threads` 1"),
        ("particles", "`particles`"),
        ("summary", "leave columns out"),
        ("data", "leave out mutations"),
        ("labels", "leave out rows"),
        ("program", "end other programs"),
    ],
)
def test_the_remedy_fits_the_part(monkeypatch: pytest.MonkeyPatch, part: str, remedy: str) -> None:
    monkeypatch.setattr(memory, "available", lambda: 8 * GIGABYTE)
    small = Estimate(1, 1, 1, 1, 1, 1, 1)
    check_memory(small._replace(**{part: 7 * GIGABYTE}))
    with pytest.raises(UsageError) as raised:
        check_memory(small._replace(**{part: 9 * GIGABYTE}))
    assert str(raised.value).startswith("this run needs about 9.0 GB of memory, 9.0 GB of it for ")
    assert "and 8.0 GB are available: " in str(raised.value)
    assert remedy in str(raised.value)


@pytest.mark.parametrize(("there", "processes"), [(4 * GIGABYTE, 2), (2 * GIGABYTE, 0), (None, 2)])
def test_processes_only_if_there_is_memory_for_their_tables(
    monkeypatch: pytest.MonkeyPatch, there: int | None, processes: int
) -> None:
    monkeypatch.setattr(memory, "available", lambda: there)
    needed = Estimate(1, 1, 3 * GIGABYTE // 2, 1, 1, 1, 1)
    model = ModelOptions().resolve(tumour()).make_model(tumour())
    plan = with_processes(Plan(None, None, model, [], 2, needed, 0.0))  # type: ignore[arg-type]
    assert plan.processes == processes
    assert plan.memory.tables == max(processes, 1) * needed.tables
    assert with_processes(replace(plan, threads=1, processes=0)).processes == 0


def test_where_nothing_tells_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: None)
    check_memory(Estimate(1 << 60, 1, 1, 1, 1, 1, 1))


def test_it_is_told_in_run_json(tmp_path: Path) -> None:
    points = tmp_path / "points.csv"
    np.savetxt(points, matrix().values, delimiter=",", header="a,b", comments="")
    options = [
        "--likelihood",
        "normal",
        "--iterations",
        "6",
        "--chains",
        "1",
        "--threads",
        "1",
        "--no-plots",
        "-q",
    ]
    result = CliRunner().invoke(cli.app, ["cluster", str(points), "-o", str(tmp_path / "out"), *options])
    assert result.exit_code == 0, result.output
    again = ["summarize", str(tmp_path / "out/trace.h5"), "-o", str(tmp_path / "again"), "--no-plots", "-q"]
    assert CliRunner().invoke(cli.app, again).exit_code == 0
    for folder in ("out", "again"):
        told = json.loads((tmp_path / folder / "run.json").read_text())["memory_estimate_mb"]
        assert list(told) == [
            "total",
            "program",
            "data",
            "tables",
            "blocks",
            "particles",
            "labels",
            "summary",
        ]
        assert 300 < told["total"] < 700


def files(root: Path, **contents: str) -> Path:
    for name, text in contents.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MEMINFO = "MemTotal: 16000 kB\nMemAvailable:    8000 kB\n"


def test_what_the_machine_has(tmp_path: Path) -> None:
    assert available(files(tmp_path, proc__meminfo=MEMINFO)) == 8000 << 10
    assert (available() or 1 << 40) > 1 << 20


def test_limits_of_control_groups(tmp_path: Path) -> None:
    """Of version 2 and version 1, of the group itself and those above it; without the files that are only cached."""
    root = files(tmp_path, proc__meminfo=MEMINFO, proc__self__cgroup="0::/jobs/one\n")
    two = root / "sys/fs/cgroup"
    files(two / "jobs/one", **{"memory.max": "max\n", "memory.current": "5000\n"})
    assert available(root) == 8000 << 10
    files(
        two / "jobs",
        **{"memory.max": "9000\n", "memory.current": "5000\n", "memory.stat": "inactive_file 1000\n"},
    )
    assert available(root) == 5000
    files(two / "jobs/one", **{"memory.max": "6000\n"})
    assert available(root) == 1000
    files(root, proc__self__cgroup="9:name=systemd:/\n4:cpu,memory:/a\n0::/\n")
    one = {
        "memory.limit_in_bytes": "7000",
        "memory.usage_in_bytes": "6500",
        "memory.stat": "total_inactive_file 300",
    }
    files(root / "sys/fs/cgroup/memory/a", **one)
    assert available(root) == 800
