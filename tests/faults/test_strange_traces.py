"""A stranger's trace is data: it reaches no other file, and what cannot be in it is named with its path."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from made_traces import OWN, ROWS, attribute, harm, made_trace, option, put, replace

from pyclone_pgsm import open_trace
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.priors import CustomPrior, DirichletProcess, FiniteDirichlet, PitmanYor
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import RunOptions, Trace, merge_traces
from pyclone_pgsm.trace.hyperparameters import HYPERPARAMETERS
from pyclone_pgsm.trace.writer import create_trace


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_trace(tmp_path_factory.mktemp("whole") / "t.h5")


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With outliers, hyperparameters of samples, and the anchors that store most."""
    return made_trace(tmp_path_factory.mktemp("rich") / "t.h5", OWN, anchor_proposal="threshold")


def refused(path: Path, folder: Path, thorough: bool = False) -> str:
    """What the commands say of a trace; none of them changes it or writes anything."""
    content = path.read_bytes()
    told = set()
    uses = [
        lambda: analysis.write_results(path, folder / "out", formats=()),
        lambda: analysis.resume(path, 100),
        lambda: open_trace(path).write_pictures(folder / "out"),
        lambda: merge_traces([path], folder / "all.h5"),
    ]
    for use in uses if thorough else uses[:1]:
        with pytest.raises(TraceError) as caught:
            use()
        told.add(str(caught.value))
    assert path.read_bytes() == content
    assert not list(folder.glob("out*"))
    assert not list(folder.glob("all*"))
    (message,) = told
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ").removeprefix("the trace is damaged: ")


def _external_link(file: h5py.File) -> None:
    del file["chains/0"]
    file["chains/0"] = h5py.ExternalLink("victim.h5", "/chains/0")


def _soft_link(file: h5py.File) -> None:
    del file["chains/1"]
    file["chains/1"] = h5py.SoftLink("/chains/0")


def _second_name(file: h5py.File) -> None:
    del file["chains/1"]
    file["chains/1"] = file["chains/0"]


def _circle(file: h5py.File) -> None:
    file["chains/0/state/again"] = file["chains"]


def _external_storage(file: h5py.File) -> None:
    del file["data/mutation_ids"]
    file["data"].create_dataset("mutation_ids", (40,), "S8", external=[("/etc/passwd", 0, 320)])


def _virtual(file: h5py.File) -> None:
    del file["data/ref_counts"]
    layout = h5py.VirtualLayout((40, 2), "int64")
    layout[:] = h5py.VirtualSource("victim.h5", "data/ref_counts", (40, 2))
    file["data"].create_virtual_dataset("ref_counts", layout)


def _linked_config(file: h5py.File) -> None:
    file.move("config", "elsewhere")
    file["config"] = h5py.SoftLink("/elsewhere")


def _type(file: h5py.File) -> None:
    file["data/kind"] = np.dtype("int64")


def _deep(file: h5py.File) -> None:
    file.create_group("chains/0/state/a/b/c")


LINKS = {
    "external link": (_external_link, "chains/0: is a link to another place"),
    "soft link": (_soft_link, "chains/1: is a link to another place"),
    "soft link to options": (_linked_config, "config: is a link to another place"),
    "second name": (_second_name, "is a second name of something else"),
    "circle": (_circle, "is a second name of something else"),
    "external storage": (_external_storage, "data/mutation_ids: has its values in another file"),
    "virtual dataset": (_virtual, "data/ref_counts: has its values in another file"),
    "named type": (_type, "data/kind: is neither a group nor a dataset"),
    "folders": (_deep, "is a group where no group is expected"),
}


@pytest.mark.parametrize("kind", LINKS)
def test_nothing_leads_out_of_the_file(kind, whole, tmp_path):
    do, message = LINKS[kind]
    victim = Path(shutil.copy(whole, tmp_path / "victim.h5"))
    content = victim.read_bytes()
    path = harm(Path(shutil.copy(whole, tmp_path / "t.h5")), do)
    assert message in refused(path, tmp_path, thorough=True)
    assert victim.read_bytes() == content


def _claims(name: str, shape: tuple[int, ...], kind: str, chunks: tuple[int, ...]):
    """A dataset that says it is large, and of which nothing is stored."""

    def do(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, shape, kind, chunks=chunks)

    return do


def _bomb(file: h5py.File) -> None:
    del file["chains/0/log_joint"]
    file.create_dataset("chains/0/log_joint", (10**8,), "f8", chunks=(10**8,), compression="gzip")


CLAIMS = {
    "series": (
        _claims("chains/0/log_joint", (10**12,), "f8", (1024,)),
        "chains/0/log_joint: is of the shape",
    ),
    "labels": (
        _claims("chains/0/labels", (20, 10**10), "u1", (20, 10**4)),
        "chains/0/labels: is of the shape",
    ),
    "counts": (
        _claims("data/ref_counts", (10**6, 10**6), "i8", (100, 100)),
        "data/ref_counts: is of the shape",
    ),
    "chunks": (_bomb, "chains/0/log_joint: has chunks of the shape (100000000,), which is too large"),
}


@pytest.mark.parametrize("kind", CLAIMS)
def test_shapes_that_are_not_there(kind, whole, tmp_path):
    do, message = CLAIMS[kind]
    path = harm(Path(shutil.copy(whole, tmp_path / "t.h5")), do)
    assert refused(path, tmp_path).startswith(message)


def _backwards(file: h5py.File) -> None:
    file["chains/0/iteration"][:] = file["chains/0/iteration"][:][::-1]


def _ids(name: str, places: dict[int, bytes]):
    def do(file: h5py.File) -> None:
        values = file[f"data/{name}"][:].astype(h5py.string_dtype("utf-8", 20))
        for place, text in places.items():
            values[place] = text
        replace(f"data/{name}", values)(file)

    return do


def _no_group(file: h5py.File) -> None:
    del file["data"]
    file.create_dataset("data", data=np.zeros(3))


def _annotation(file: h5py.File) -> None:
    file.copy("data/annotations/chrom", "data/annotations/cluster_id")


OPTIONS = {
    **{f"settings.{name}": value for name in vars(Settings()) for value in [{"a": [1]}]},
    "settings.seed ": 1.0,
    "settings.chains ": 10**9,
    "settings.iterations ": -1,
    "settings.burn_in ": None,
    "settings.thin ": True,
    "settings.particles ": 10**9,
    "settings.sampler ": "x",
    "settings.anchor_proposal ": "x",
    "settings.resample_threshold ": 7,
    "settings.init ": "",
    "settings.other": 1,
    "prior": [],
    "prior.name": "x",
    "prior.name ": ["dp"],
    "prior.concentration": "1",
    "prior.concentration ": -1.0,
    "prior.shape": {},
    "prior.rate": 10**400,
    "prior.other": 1,
    "model": 1,
    "model.likelihood": None,
    "model.likelihood ": "no-such-likelihood",
    "model.grid_size": 10**9,
    "model.grid_size ": 51.0,
    "model.genotype_prior": "x",
    "model.density": ["binomial"],
    "model.precision": "x",
    "model.precision ": -1,
    "model.precision  ": 200.0,
    "model.outlier_prob": 1.5,
    "model.tumour_content": {"S1": [7, 0.1]},
    "model.tumour_content ": {"nobody": [0.5, 0.1]},
    "model.other": 1,
    "hyperparameters": "precision",
    "hyperparameters ": [],
    "hyperparameters  ": ["precision", "precision"],
    "hyperparameters   ": ["x"],
    "rebuild": 0,
    "rebuild ": "1",
    "moves": "gibbs",
    "moves ": [1],
    "moves  ": ["gibbs"],
    "moves   ": [],
    "other": 1,
}


@pytest.mark.parametrize("where", OPTIONS)
def test_options_that_cannot_be(where, whole, tmp_path):
    path = harm(Path(shutil.copy(whole, tmp_path / "t.h5")), option(where.strip(), OPTIONS[where]))
    assert refused(path, tmp_path)


STRANGE = {
    "config.options: no JSON": attribute("config", "options", "[" * 100_000),
    "config.options: 7 is no JSON object": attribute("config", "options", "7"),
    "config.options: 7 is no text": attribute("config", "options", 7),
    "config.seed: is 9, but": attribute("config", "seed", 9),
    "config.seed: 'x'": attribute("config", "seed", "x"),
    "config.command: is neither": attribute("config", "command", np.zeros(1, "c16")),
    "config.version: is missing": lambda file: file["config"].attrs.__delitem__("version"),
    "chains/0.seed": attribute("chains/0", "seed", -1),
    "chains/0/labels: [19, 0] is 39": put("chains/0/labels", 39),
    "chains/0/labels: [19, 1] is 2; expected at most 1": put("chains/0/labels", 2, (-1, 1)),
    "chains/0/num_clusters: [19] is 2, but there are 3 clusters": put("chains/0/num_clusters", 2),
    "chains/0/iteration: [0] is 20; expected 1: the multiples of 1 are saved, in order": _backwards,
    "chains/0/iteration: [0] is -5; expected a positive number": put("chains/0/iteration", -5, 0),
    "chains/0/iteration: [19] is 99; expected 20": put("chains/0/iteration", 99),
    "chains/0/log_joint: [19] is inf": put("chains/0/log_joint", np.inf),
    "chains/0/seconds: [19] is -1.0": put("chains/0/seconds", -1.0),
    "config.options.moves: are not those of the settings, gibbs, close, pgsm": option(
        "moves", ["pgsm", "gibbs"]
    ),
    "chains/0/moves: is missing": lambda file: file["chains/0"].__delitem__("moves"),
    "chains/0/moves: [19, 1, 2] is -1": put("chains/0/moves", -1, (-1, 1, 2)),
    "chains/0/moves: [19, 0] counts more": put("chains/0/moves", 5, (-1, 0, 1)),
    "chains/0/moves: [0, 1] counts more": put("chains/0/moves", 2, (0, 1, 3)),
    "chains/0/moves: has the shape (20, 3, 3)": replace("chains/0/moves", np.zeros((20, 3, 3), np.int32)),
    "chains/0/concentration: [19] is no concentration": put("chains/0/concentration", -1.0),
    "chains/0/precision: [19] is 7.0; expected one of the 58 values 31.6": put("chains/0/precision", 7.0),
    "chains/0/log_joint: is of the type int64": replace("chains/0/log_joint", np.zeros(20, int)),
    "chains/0/log_joint: is of the type ": replace("chains/0/log_joint", np.zeros(20, "S3")),
    "chains/0/log_joint: has the shape (20, 1)": replace("chains/0/log_joint", np.zeros((20, 1))),
    "chains/0/log_joint: is no array": replace("chains/0/log_joint", 1.0),
    "data/left_out: is no array of values of a fixed length": replace(
        "data/left_out", np.array(["[1]"], object), dtype=h5py.string_dtype()
    ),
    "chains/0/other: is not known": lambda file: file["chains/0"].create_group("other"),
    "chains/2: is not known": lambda file: file.copy("chains/0", "chains/2"),
    "other: is not known": lambda file: file.create_group("other"),
    "data: is no group": _no_group,
    "data/mutation_ids: [1] is 'm1', as is [0]": _ids("mutation_ids", {0: b"m1", 1: b"m1"}),
    "data/mutation_ids: [0] is ''": _ids("mutation_ids", {0: b""}),
    "data/mutation_ids: [0] is 'a\\x1b[2J'": _ids("mutation_ids", {0: b"a\x1b[2J"}),
    "data/sample_ids: [0] is 'a\\x85'": _ids("sample_ids", {0: b"a\xc2\x85"}),
    "data/sample_ids: is no UTF-8": _ids("sample_ids", {0: b"\xff\xff"}),
    "data/annotations: 'cluster_id' is none of": _annotation,
    "data/left_out: [0] is ": replace("data/left_out", np.array([b"[1]"])),
    "data/major_cn: [39, 1] is 1000000; expected a copy number": put("data/major_cn", 10**6, (-1, -1)),
    "data/minor_cn: [39, 1] is more than major_cn": put("data/minor_cn", 999, (-1, -1)),
    "data/normal_cn: [39, 1] is 0": put("data/normal_cn", 0, (-1, -1)),
    "data/ref_counts: [39, 1] is 2147483648": put("data/ref_counts", 2**31, (-1, -1)),
    "data/tumour_content: [39, 1] is nan": put("data/tumour_content", np.nan, (-1, -1)),
    "data/tumour_content: [39, 1] is 7.0": put("data/tumour_content", 7.0, (-1, -1)),
    "data/error_rate: [39, 1] is 0.5": put("data/error_rate", 0.5, (-1, -1)),
    "data/subclonal_fraction: [39, 1] is 1.0": put("data/subclonal_fraction", 1.0, (-1, -1)),
    "data/has_data: is nowhere true": put("data/has_data", False, slice(None)),
    "data/grid: is not the grid": put("data/grid", 0.5),
    "chains/0/state.iteration: is 21": attribute("chains/0/state", "iteration", 21),
    "chains/0/state.iteration: 'x'": attribute("chains/0/state", "iteration", "x"),
    "chains/0/state.prior: [-1.0, 1.0]; expected 1 numbers": attribute(
        "chains/0/state", "prior", [-1.0, 1.0]
    ),
    "chains/0/state.prior: `concentration` -1.0: must be a positive number": attribute(
        "chains/0/state", "prior", [-1.0]
    ),
    "chains/0/state.hyperparameters ('precision'): [0] is 1.5": attribute(
        "chains/0/state", "hyperparameters", [1.5, 0.2, 0.2, 0.2, 0.2]
    ),
    "chains/0/state.hyperparameters ('weight_absent:": attribute(
        "chains/0/state", "hyperparameters", [1000.0, 0.6, 0.4, 0.2, 0.2]
    ),
    "chains/0 ('weight_absent:S1')": put("chains/0/weight_absent:S1", 0.9999999),
    "chains/0/weight_clonal:S2: [19] is 1.0": put("chains/0/weight_clonal:S2", 1.0),
    "chains/0/state.random_generator": attribute("chains/0/state", "random_generator", "{}"),
    'chains/0/state.random_generator: \'{"bit_generator"': attribute(
        "chains/0/state",
        "random_generator",
        json.dumps(
            {"bit_generator": "PCG64", "state": {"state": 2**200, "inc": 1}, "has_uint32": 0, "uinteger": 0}
        ),
    ),
    "chains/0/state/labels: [0, 39] is 9": put("chains/0/state/labels", 9),
    "chains/0/state/labels: [0] is -1": put("chains/0/state/labels", -1, 0),
    "chains/0/state/visits: [1] is -1": replace("chains/0/state/visits", np.array([0, -1])),
    "chains/0/state/anchor_labels: [39] is -1": put("chains/0/state/anchor_labels", -1),
    "chains/0/state/anchor_scores: is not known": lambda file: file["chains/0/state"].create_dataset(
        "anchor_scores", data=np.zeros((3, 3))
    ),
}


@pytest.mark.parametrize("message", STRANGE)
def test_the_first_problem_is_named_with_its_path(message, whole, tmp_path):
    path = harm(Path(shutil.copy(whole, tmp_path / "t.h5")), STRANGE[message])
    told = refused(path, tmp_path)
    assert message in told


RICH = {
    "chains/0/outliers: has the shape": replace("chains/0/outliers", np.zeros((20, 3), bool)),
    "chains/0/outliers: is of the type": replace("chains/0/outliers", np.zeros((20, 40), "u1")),
    "chains/0/num_clusters": put("chains/0/outliers", True),
    "chains/0/tumour_content:S1: [19] is 0.123": put("chains/0/tumour_content:S1", 0.123),
    "chains/0/precision:S2: [19] is nan": put("chains/0/precision:S2", np.nan),
    "chains/0/state/outliers: has the shape": replace("chains/0/state/outliers", np.zeros(3, bool)),
    "chains/0/state/anchor_blocks: [0] is 9": replace("chains/0/state/anchor_blocks", np.array([9], "int32")),
    "chains/0/state/anchor_start: ": put("chains/0/state/anchor_start", 5),
    "chains/0/state/anchor_labels: are not 0, 1": put("chains/0/state/anchor_labels", 7),
}


def test_visits_of_other_values_than_the_model_has(whole, tmp_path):
    """Which values there are is known when the chains are to go on."""
    path = harm(Path(shutil.copy(whole, tmp_path / "t.h5")), replace("chains/0/state/visits", np.arange(3)))
    content = path.read_bytes()
    with pytest.raises(TraceError, match="chains/0/state/visits: has 3 numbers, not "):
        analysis.resume(path, 100)
    assert path.read_bytes() == content


@pytest.mark.parametrize("message", RICH)
def test_what_only_some_traces_have(message, rich, tmp_path):
    path = harm(Path(shutil.copy(rich, tmp_path / "t.h5")), RICH[message])
    assert message in refused(path, tmp_path)


def test_what_was_changed_without_renewing_the_checksum(whole, tmp_path):
    path = Path(shutil.copy(whole, tmp_path / "t.h5"))
    with h5py.File(path, "r+") as file:
        file["config"].attrs["command"] = "another"
    assert refused(path, tmp_path).startswith("its content does not have the checksum")


@pytest.mark.parametrize(
    "prior",
    [
        PitmanYor(),
        PitmanYor(-0.2, 0.5, None, None),
        FiniteDirichlet(5),
        DirichletProcess(1.0, None, None),
        CustomPrior(lambda j: -1.0 * j, lambda n: 0.0 * n),
    ],
)
@pytest.mark.parametrize("proposal", ["uniform", "cluster", "threshold", "balanced"])
def test_what_is_written_is_read(prior, proposal, tmp_path):
    options = OWN if prior.is_consistent else dataclasses.replace(OWN, outlier_prob=0.0)
    path = made_trace(tmp_path / "t.h5", options, prior, anchor_proposal=proposal)
    with Trace(path) as trace:
        trace.check()
        assert len(trace.chains[0].iteration) == ROWS
        assert trace.model.hyperparameters == trace.options.hyperparameters
        stored = json.loads(json.dumps(json.loads(trace.options.to_json())))
        assert RunOptions.from_json(json.dumps(stored)) == trace.options


def test_every_hyperparameter_of_a_model_is_known(rich):
    with Trace(rich) as trace:
        names = trace.data.make_model().hyperparameters
    assert {name.partition(":")[0] for name in names} <= set(HYPERPARAMETERS)


def test_data_that_no_trace_can_hold_are_refused_at_the_start(whole, tmp_path):
    with Trace(whole) as trace:
        data, options, states = trace.data, trace.options, trace.states()
    values = {
        **vars(data.observations),
        "tumour_content": np.full_like(data.observations.tumour_content, 7.0),
    }
    with pytest.raises(UsageError, match=r"a trace cannot hold this: data/tumour_content: \[0, 0\] is 7.0"):
        create_trace(
            tmp_path / "t.h5",
            dataclasses.replace(data, observations=Observations(**values)),
            options,
            "",
            states,
        )
    assert not list(tmp_path.iterdir())
