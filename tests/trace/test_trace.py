"""trace.h5: what is promised of it, merging, and files that are damaged or something else."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from small_runs import FIXED, LEFT_OUT, bits, edited, matrix, run, shorten, tumour

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.plan import make_plan
from pyclone_pgsm.errors import OutputError, TraceError, UsageError
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.likelihoods.matrix import MatrixOptions
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.chain import Records
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import FORMAT, Trace, TraceWriter, merge_traces
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.tumour.base_measure import weight_names
from pyclone_pgsm.tumour.choices import content_choice


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Runs with seeds 1, 2 and 3 of 2, 3 and 1 chains."""
    folder = tmp_path_factory.mktemp("traces")
    return {
        seed: run(folder / f"{seed}.h5", seed=seed, chains=chains)
        for seed, chains in ((1, 2), (2, 3), (3, 1))
    }


def test_readable_with_h5py_alone(traces):
    observations = tumour()
    with h5py.File(traces[1], "r") as file:
        config = file["config"].attrs
        assert config["format"] == FORMAT
        assert config["version"] == "0.1.0"
        assert config["command"] == "a test"
        assert config["seed"] == 1
        assert "labels [iterations, T]" in config["description"]
        options = json.loads(config["options"])
        assert options["settings"]["iterations"] == 60
        assert options["settings"]["burn_in"] == 30
        assert options["model"]["density"] == "beta-binomial"
        assert options["prior"] == {"name": "dp", "concentration": 1.0, "shape": 1.0, "rate": 1.0}

        data = file["data"]
        assert list(data["mutation_ids"].asstr()) == observations.mutation_ids
        assert list(data["sample_ids"].asstr()) == observations.sample_ids
        for name in ("ref_counts", "alt_counts", "tumour_content", "has_data"):
            np.testing.assert_array_equal(data[name], getattr(observations, name))
        assert [json.loads(line) for line in data["left_out"].asstr()] == [list(row) for row in LEFT_OUT]

        assert sorted(file["chains"]) == ["0", "1"]
        for chain in file["chains"].values():
            labels = chain["labels"]
            assert labels.shape == (60, observations.num_mutations)
            assert labels.dtype == np.uint8
            assert labels.chunks is not None
            assert labels.compression == "gzip"
            assert "random_generator" in chain["state"].attrs
            np.testing.assert_array_equal(chain["iteration"], np.arange(1, 61))
            np.testing.assert_array_equal(chain["num_clusters"], labels[:].max(axis=1) + 1)
            for name in (
                "labels",
                "iteration",
                "concentration",
                "num_clusters",
                "log_joint",
                "seconds",
                "precision",
            ):
                assert len(chain[name]) == 60
                assert chain[name].attrs["description"]
            assert np.isfinite(chain["log_joint"]).all()
            assert (chain["concentration"][:] > 0).all()
            assert (chain["seconds"][:] > 0).all()
            for row in labels[:]:  # numbered by first appearance
                _, first = np.unique(row, return_index=True)
                assert (np.diff(first) > 0).all()


def test_fixed_precision_is_not_traced(tmp_path):
    with h5py.File(run(tmp_path / "t.h5", model=FIXED), "r") as file:
        assert "precision" not in file["chains/0"]
        assert json.loads(file["config"].attrs["options"])["model"]["precision"] == 200.0


OWN = analysis.ModelOptions(precision="infer-per-sample", tumour_content={"a/b%2F": Uncertain(0.7, 0.1)})


def named_tumour() -> Observations:
    """Sample names that HDF5 would take for folders; a second copy-number state in some places."""
    second = np.arange(40)[:, None] < np.array([5, 5])
    return replace(
        tumour(),
        sample_ids=["a/b%2F", "./x"],
        subclonal_major_cn=np.where(second, 4, 0),
        subclonal_fraction=np.where(second, 0.25, 0.0),
    )


def test_tumour_contents_of_samples_in_any_order(tmp_path):
    """A trace stores them in alphabetical order."""
    model = analysis.ModelOptions(tumour_content={"A": Uncertain(0.7, 0.1), "Z": Uncertain(0.8, 0.1)})
    path = run(
        tmp_path / "t.h5", observations=replace(tumour(), sample_ids=["Z", "A"]), model=model, iterations=40
    )
    with Trace(path) as trace:
        assert trace.options.hyperparameters[1:3] == ("tumour_content:Z", "tumour_content:A")
        for name, content in model.tumour_content.items():
            drawn = set(trace.chains[0].hyperparameters[f"tumour_content:{name}"])
            assert drawn <= set(content_choice(content).values)
    assert analysis.resume(path, 60, threads=1) == 60
    report = analysis.write_results(path, tmp_path / "out", formats=())
    assert np.isfinite(report.summary.mean).all()


def test_hyperparameters_of_samples(tmp_path):
    data = named_tumour()
    path = run(tmp_path / "t.h5", observations=data, model=OWN, hyper_every=1, seed=3)
    names = ("precision:a/b%2F", "precision:./x", "tumour_content:a/b%2F")
    with h5py.File(path, "r") as file:
        chain = file["chains/0"]
        assert chain["precision:a%2Fb%252F"].attrs["description"].endswith("of sample a/b%2F")
        assert len(chain["precision:.%2Fx"]) == len(chain["tumour_content:a%2Fb%252F"]) == 60
        np.testing.assert_array_equal(file["data/subclonal_fraction"], data.subclonal_fraction)
    with Trace(path) as trace:
        assert trace.options.hyperparameters == (*names, *weight_names(["a/b%2F", "./x"]))
        assert trace.data.options.tumour_content == {"a/b%2F": (0.7, 0.1)}
        for name in ("subclonal_major_cn", "subclonal_minor_cn", "subclonal_fraction"):
            np.testing.assert_array_equal(getattr(trace.observations, name), getattr(data, name))
        drawn = [trace.chains[0].hyperparameters[name] for name in names]
        assert all(len(set(values)) > 2 for values in drawn)
        assert set(drawn[2]) <= set(content_choice(Uncertain(0.7, 0.1)).values)
    short = run(tmp_path / "short.h5", observations=data, model=OWN, hyper_every=1, seed=3, iterations=40)
    analysis.resume(short, 60, threads=1)
    mine, its = bits(path), bits(short)
    assert {name for name in mine if mine[name] != its[name]} == set()
    report = analysis.write_results(path, tmp_path / "out", formats=())
    diagnostics = json.loads((tmp_path / "out" / "run.json").read_text())["diagnostics"]
    assert [name for name in diagnostics if ":" in name] == [*names, *weight_names(["a/b%2F", "./x"])]
    assert 0.45 <= diagnostics["tumour_content:a/b%2F"]["median"] <= 0.95
    assert np.isfinite(report.summary.mean).all()
    other = run(tmp_path / "other.h5", observations=data, model=OWN, hyper_every=1, seed=2)
    assert merge_traces([path, other], tmp_path / "both.h5") == 4


def test_moves_are_counted(traces, tmp_path):
    """In every iteration and chain, the same if the run was interrupted; in run.json those after the burn-in."""
    with h5py.File(traces[1], "r") as file:
        moves = np.array([chain["moves"][:] for chain in file["chains"].values()])
        names = json.loads(file["config"].attrs["options"])["moves"]
        assert ", ".join(names) in file["chains/0/moves"].attrs["description"]
        num_clusters = np.array([chain["num_clusters"][:] for chain in file["chains"].values()])
    assert moves.shape == (2, 60, len(names), 4)
    tried, changed, split, merged = np.moveaxis(moves, 3, 0)
    assert (tried == tried[0, 0]).all()
    assert (tried > 0).all()
    assert (split + merged <= changed).all()
    assert (changed <= tried).all()
    assert ((split + merged).sum(axis=2)[:, 1:][np.diff(num_clusters) != 0] > 0).all()
    analysis.write_results(traces[1], tmp_path / "out", formats=())
    told = json.loads((tmp_path / "out" / "run.json").read_text())["moves"]
    assert list(told) == names
    assert {"gibbs", "pgsm"} <= set(names)
    for name, counts in zip(told, moves[:, 30:].sum(axis=(0, 1)).tolist()):
        assert told[name] == dict(zip(("tried", "changed", "split", "merged"), counts))
    short = run(tmp_path / "short.h5", seed=1, iterations=40)
    analysis.resume(short, 60, threads=1)
    assert bits(short)["chains/1/moves"] == bits(traces[1])["chains/1/moves"]


def without_counts(path: Path) -> Path:
    """As versions before wrote it."""
    with edited(path) as file:
        options = json.loads(file["config"].attrs["options"])
        del options["moves"]
        file["config"].attrs["options"] = json.dumps(options)
        for chain in file["chains"].values():
            del chain["moves"]
    return path


def test_a_trace_without_counts_of_moves_is_read_and_goes_on(traces, tmp_path):
    old = without_counts(Path(shutil.copy(traces[1], tmp_path / "old.h5")))
    new = Path(shutil.copy(traces[1], tmp_path / "new.h5"))
    assert analysis.resume(old, 75, threads=1) == analysis.resume(new, 75, threads=1) == 75
    analysis.write_results(old, tmp_path / "out", formats=())
    assert json.loads((tmp_path / "out" / "run.json").read_text())["moves"] == {}
    mine, its = bits(old), bits(new)
    different = {name.rpartition("/")[2] for name in mine | its if mine.get(name) != its.get(name)}
    assert different == {"moves", "config:options"}
    two = without_counts(Path(shutil.copy(traces[2], tmp_path / "2.h5")))
    assert merge_traces([traces[1], two], old) == 5
    with Trace(old) as trace:
        assert trace.options.moves == ()
        assert [chain.moves.shape for chain in trace.chains] == [(60, 0, 4)] * 5
    assert merge_traces([traces[1], traces[2]], tmp_path / "both.h5") == 5
    with Trace(tmp_path / "both.h5") as trace:
        assert [chain.moves.shape for chain in trace.chains] == [(60, len(trace.options.moves), 4)] * 5
        assert trace.options.moves


def test_reading_back(traces):
    observations = tumour()
    with Trace(traces[2]) as trace:
        assert trace.data.left_out == LEFT_OUT
        assert trace.observations.annotations == observations.annotations
        assert trace.options.hyperparameters == ("precision", *weight_names(["S1", "S2"]))
        assert len(trace.chains) == len(trace.states()) == 3
        for rows in ([], [0], [59], [3, 4, 9], [0, 30, 59], range(60)):
            chosen = np.array(rows, int)
            with h5py.File(traces[2], "r") as file:
                expected = file["chains/1/labels"][:][chosen]
            np.testing.assert_array_equal(trace.labels(1, chosen), expected)


def test_labels_grow_to_sixteen_bits(tmp_path, monkeypatch):
    """300 clusters at first, written after rows of few clusters by a chain that is resumed."""
    flushes = []
    monkeypatch.setattr(
        analysis, "TraceWriter", type("W", (TraceWriter,), {"flush": lambda w: flushes.append(0)})
    )
    path = run(
        tmp_path / "t.h5", observations=tumour(300), init="disconnected", chains=1, iterations=20, burn_in=10
    )
    assert flushes
    monkeypatch.undo()
    with Trace(path) as trace:
        (state,) = trace.states()
        assert len(np.unique(state.labels)) == 300
        options = trace.options

    def records(iteration: int, labels: np.ndarray) -> Records:
        found = Records([iteration], [labels.astype(np.int32)], [1], [0.0], [0.1], [(1.0,)], [(1000.0,)])
        return replace(found, moves=[np.zeros((len(options.moves), 4), np.int64)])

    few, many = np.arange(300) % 256, np.arange(300)
    for iteration, labels, kind in ((1, few, np.uint8), (2, many, np.uint16), (3, few, np.uint16)):
        writer = TraceWriter(path, options.traced)
        writer.add(0, state, records(iteration, labels))
        writer.flush()
        with h5py.File(path, "r") as file:
            dataset = file["chains/0/labels"]
            assert dataset.dtype == kind
            assert dataset.compression == "gzip"
            np.testing.assert_array_equal(dataset[:], np.array([few, many, few])[:iteration])


def test_what_is_replaced_does_not_pile_up_in_the_file(tmp_path):
    """The place of old states, and of chunks that grew, is used again."""
    path = run(tmp_path / "t.h5", observations=tumour(300), chains=1, iterations=40)
    with Trace(path) as trace:
        (state,) = trace.states()
        names, moves = trace.options.traced, trace.options.moves
    rng = np.random.default_rng(1)
    before = path.stat().st_size
    for begin in range(41, 1017, 4):
        iterations = list(range(begin, begin + 4))
        labels = list(rng.integers(0, 8, (4, 300)).astype(np.int32))
        ones = [1.0] * 4
        writer = TraceWriter(path, names)
        records = Records(iterations, labels, [8] * 4, ones, ones, [(1.0,)] * 4, [(1000.0,)] * 4)
        writer.add(0, state, replace(records, moves=[np.zeros((len(moves), 4), np.int64)] * 4))
        writer.flush()
    with h5py.File(path, "r") as file:
        stored = file["chains/0/labels"].id.get_storage_size()
    assert path.stat().st_size - before < 1.25 * stored


def test_flush_without_anything_leaves_the_file(traces):
    before = traces[1].stat().st_mtime_ns
    TraceWriter(traces[1], ()).flush()
    assert traces[1].stat().st_mtime_ns == before


def test_merge(traces, tmp_path):
    out = tmp_path / "all.h5"
    assert merge_traces([traces[1], traces[2], traces[3]], out) == 6
    expected = [bits(traces[seed]) for seed in (1, 2, 3)]
    places = [(0, "0"), (0, "1"), (1, "0"), (1, "1"), (1, "2"), (2, "0")]
    merged = bits(out)
    for k, (source, name) in enumerate(places):
        for series in ("labels", "log_joint", "concentration", "precision", "state/labels"):
            assert merged[f"chains/{k}/{series}"] == expected[source][f"chains/{name}/{series}"]
    with Trace(out) as trace:
        assert trace.options.settings.chains == 6
        assert trace.observations.mutation_ids == tumour().mutation_ids
        assert trace.data.left_out == LEFT_OUT
    result = analysis.write_results(out, tmp_path / "out", formats=())
    assert not np.isnan(result.summary.mean).any()
    assert json.loads((tmp_path / "out" / "run.json").read_text())["counts"]["chains"] == 6
    again = tmp_path / "again.h5"
    with pytest.raises(TraceError, match="its seed 2 is also that of"):
        merge_traces([out, traces[2]], again)
    assert not again.exists()


def test_merged_chains_go_on_as_they_would_apart(traces, tmp_path):
    out = tmp_path / "all.h5"
    merge_traces([traces[1], traces[3]], out)
    analysis.resume(out, 75, threads=1)
    apart = shutil.copy(traces[3], tmp_path / "3.h5")
    analysis.resume(apart, 75, threads=1)
    assert bits(out)["chains/2/labels"] == bits(apart)["chains/0/labels"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": tumour(39)}, "its data differ from those of"),
        ({"model": FIXED}, "precision 200.0 differs from None of"),
        ({"model": analysis.ModelOptions(grid_size=51)}, "grid_size 51 differs from"),
        (
            {"model": analysis.ModelOptions(genotype_prior="total")},
            "genotype_prior 'total' differs from 'major'",
        ),
        ({"model": analysis.ModelOptions(density="binomial")}, "density 'binomial' differs from"),
        ({"model": analysis.ModelOptions(outlier_prob=0.1)}, "outlier_prob 0.1 differs from None of"),
        ({"iterations": 61}, "iterations 61 differs from 60 of"),
        ({"iterations": 61}, ".h5: resume the shorter one to as many"),
        ({"iterations": None, "max_iterations": 20, "burn_in": 9}, "iterations 'auto' differs from 60 of"),
        ({"burn_in": 20}, "burn_in 20 differs from 30 of"),
        ({"thin": 2}, "thin 2 differs from 1 of"),
        ({"prior": DirichletProcess(1.0, 2.0)}, "the prior's shape 2.0 differs from 1.0 of"),
        (
            {"prior": DirichletProcess(1.0, None, None)},
            "the prior's concentration 1.0 differs from 'resampled' of",
        ),
        ({"seed": 1}, "its seed 1 is also that of"),
        ({"seed": 1, "sampler": "gibbs", "chains": 1}, "its seed 1 is also that of"),
    ],
)
def test_merge_refuses(change, message, traces, tmp_path):
    other = run(tmp_path / "other.h5", **{"seed": 9, "chains": 1, **change})
    with pytest.raises(TraceError) as caught:
        merge_traces([traces[1], other], tmp_path / "all.h5")
    assert str(caught.value).startswith(f"{other}: ")
    assert message in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["other.h5"]


def test_merge_of_a_run_that_became_automatic_later(tmp_path):
    automatic = {"iterations": None, "max_iterations": 20, "burn_in": 9, "chains": 1}
    first, other = run(tmp_path / "1.h5", **automatic), run(tmp_path / "2.h5", seed=2, chains=1)
    analysis.resume(other, "auto", max_iterations=70)
    with pytest.raises(TraceError, match="iterations at the start 'a number' differs from 'auto'"):
        merge_traces([first, other], tmp_path / "all.h5")


def test_merge_refuses_an_unfinished_copy_of_the_same_run(traces, tmp_path):
    short = shorten(Path(shutil.copy(traces[1], tmp_path / "short.h5")), (20, 20))
    with pytest.raises(TraceError, match=r"short\.h5: its seed 1 is also that of"):
        merge_traces([traces[1], short], tmp_path / "all.h5")


def test_merge_of_what_is_no_trace_makes_no_folder(tmp_path):
    with pytest.raises(TraceError, match="no such file"):
        merge_traces([tmp_path / "missing.h5"], tmp_path / "new" / "all.h5")
    assert not (tmp_path / "new").exists()


def test_merge_of_fixed_concentrations(tmp_path):
    first, other = (
        run(tmp_path / f"{seed}.h5", seed=seed, prior=DirichletProcess(float(seed), None, None))
        for seed in (1, 2)
    )
    with pytest.raises(TraceError, match=r"the prior's concentration 2\.0 differs from 1\.0"):
        merge_traces([first, other], tmp_path / "all.h5")


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("mutation_id\tsample_id\n")


def _foreign(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = [1, 2, 3]


def _unsealed(path: Path) -> None:
    """As versions before format 3 wrote it; HDF5 must not open it."""
    with path.open("r+b") as file:
        file.write(bytes(512))


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def _later(path: Path) -> None:
    with edited(path) as file:
        file["config"].attrs["format"] = "pyclone-pgsm trace 7"


def _flipped_labels(path: Path) -> None:
    with h5py.File(path, "r") as file:
        chunk = file["chains/1/labels"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 255
    path.write_bytes(content)


def _flipped_joint(path: Path) -> None:
    with h5py.File(path, "r") as file:
        chunk = file["chains/1/log_joint"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset + 40] ^= 1
    path.write_bytes(content)


def _without(name: str):
    def damage(path: Path) -> None:
        with edited(path) as file:
            del file[name]

    return damage


def _uneven(path: Path) -> None:
    with edited(path) as file:
        file["chains/0/log_joint"].resize(10, axis=0)


def _strange_options(path: Path) -> None:
    with edited(path) as file:
        file["config"].attrs["options"] = '{"settings": {}}'


def _short_counts(path: Path) -> None:
    with edited(path) as file:
        counts = file["data/ref_counts"][:-1]
        del file["data/ref_counts"]
        file["data/ref_counts"] = counts


def _with(name: str, value: float):
    def damage(path: Path) -> None:
        with edited(path) as file:
            file[name][-1] = value

    return damage


def _grid_of_another_prior(path: Path) -> None:
    with edited(path) as file:
        grid = file["data/grid"]
        grid[:] = np.linspace(0, 1, len(grid))


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES = {
    "short_counts": (_short_counts, "data/ref_counts: has the shape (39, 2), not (40, 2)"),
    "negative_counts": (
        _with("data/alt_counts", -3),
        "data/alt_counts: [39, 0] is -3; expected a number of reads",
    ),
    "no_joint": (
        _with("chains/0/log_joint", np.nan),
        "chains/0/log_joint: [59] is nan; expected a finite number",
    ),
    "strange_label": (
        _with("chains/1/labels", 250),
        "the trace is damaged: chains/1/labels: [59, 0] is 250; expected 0: blocks",
    ),
    "grid of another prior": (
        _grid_of_another_prior,
        "data/grid: is not the grid of 101 prevalences of the learned prior",
    ),
    "directory": (_directory, "this is a folder"),
    "pipe": (_pipe, "this is a pipe or a device; write the trace to a file"),
    "empty": (_empty, "not a trace of pyclone-pgsm, or damaged"),
    "text": (
        _text,
        "or damaged: it seems to be text. Tables of mutations are read by pyclone-pgsm analyze, other",
    ),
    "foreign": (_foreign, "not a trace of pyclone-pgsm, or damaged"),
    "unsealed": (_unsealed, "or of an earlier version: its first line is not the checksum of the rest"),
    "truncated": (_truncated, "damaged"),
    "later": (_later, "a trace of format 'pyclone-pgsm trace 7'; this version reads 'pyclone-pgsm trace 6'"),
    "flipped_labels": (_flipped_labels, "the trace is damaged"),
    "flipped_joint": (_flipped_joint, "the trace is damaged"),
    "no_config": (_without("config"), "the trace is damaged: config: is missing"),
    "no_data": (_without("data"), "the trace is damaged: data: is missing"),
    "no_counts": (_without("data/alt_counts"), "the trace is damaged"),
    "no_chains": (_without("chains"), "the trace is damaged"),
    "no_chain": (_without("chains/0"), "the trace is damaged: chains/0: is missing"),
    "no_labels": (_without("chains/0/labels"), "the trace is damaged"),
    "no_precision": (_without("chains/1/precision"), "the trace is damaged"),
    "uneven": (_uneven, "chains/0/log_joint: has the shape (10,), not (60)"),
    "options": (_strange_options, "the trace is damaged: config.options: prior is missing"),
    "missing": (Path.unlink, "there is no such file"),
}


@pytest.fixture(params=DAMAGES)
def damaged(request, traces, tmp_path) -> tuple[Path, str]:
    damage, message = DAMAGES[request.param]
    path = Path(shutil.copy(traces[1], tmp_path / "damaged.h5"))
    damage(path)
    return path, message


def test_damaged_traces_are_told(damaged, traces, tmp_path):
    path, message = damaged
    content = path.read_bytes() if path.is_file() else None

    def check(use) -> None:
        with pytest.raises(TraceError) as caught:
            use()
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)

    check(lambda: analysis.resume(path, 100))
    check(lambda: analysis.write_results(path, tmp_path / "out", formats=()))
    check(lambda: merge_traces([path, traces[3]], tmp_path / "all.h5"))
    check(lambda: merge_traces([traces[3], path], tmp_path / "all.h5"))
    assert content == (path.read_bytes() if path.is_file() else None)
    assert not (tmp_path / "all.h5").exists()
    assert not list(tmp_path.glob("out/*"))


def test_any_flipped_bit_of_a_dataset_is_told(traces, tmp_path):
    chunks = []

    def visit(_: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            chunks.extend(item.id.get_chunk_info(k) for k in range(item.id.get_num_chunks()))

    with h5py.File(traces[1], "r") as file:
        file.visititems(visit)
    assert len(chunks) >= 14 + 2 * 9  # data; labels, six series, and the state's labels and anchors
    rng = np.random.default_rng(7)
    whole = traces[1].read_bytes()
    path = tmp_path / "t.h5"
    for chunk in chunks:
        content = bytearray(whole)
        content[chunk.byte_offset + int(rng.integers(chunk.size))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        with pytest.raises(TraceError, match=r"t\.h5: the trace is damaged"), Trace(path) as trace:
            trace.check()


def test_trace_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a file, not a folder"):
        run(tmp_path / "file" / "t.h5")


@pytest.mark.parametrize("name", ["seconds", "entropy"])  # of the trace, and of the convergence rule
def test_no_parameter_has_the_name_of_another_series(name, monkeypatch):
    data = MatrixData(matrix(), MatrixOptions("normal", {}))
    model = data.make_model()
    model.hyperparameters = (name,)
    monkeypatch.setattr(MatrixData, "make_model", lambda _: model)
    with pytest.raises(UsageError, match=f"`parameters` {name}: cannot be inferred, as chains have a series"):
        make_plan(data, Settings(iterations=20), DirichletProcess())
