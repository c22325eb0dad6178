"""Code of a file is run if the command names it, never because a trace does."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from made_traces import harm, made_trace, option
from small_runs import matrix
from test_cli import call, refused

from pyclone_pgsm.analyses import matrix_input
from pyclone_pgsm.analyses import plan as plan_module
from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.opening import open_trace
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.chain import ChainState, Records
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import Trace, TraceWriter, create_trace
from pyclone_pgsm.trace.matrix import MatrixData

PLUGIN = Path(__file__).parents[2] / "examples" / "poisson_gamma" / "pyclone_pgsm_poisson_gamma.py"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The example, which tells when it is run."""
    path = tmp_path / "plugin.py"
    told = tmp_path / "was run"
    path.write_text(PLUGIN.read_text() + f"\nopen({str(told)!r}, 'a').close()\n")
    return path


@pytest.fixture
def trace(plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of that likelihood, with iterations that no sampler made; no move is compiled for it."""
    counts = matrix("counts")
    options = matrix_input.stored_options(f"{plugin}:PoissonGamma", {"rate": 0.05}, counts)
    data = MatrixData(counts, options)
    settings = Settings(iterations=20, burn_in=10, chains=1, sampler="gibbs")
    monkeypatch.setattr(plan_module, "rehearse", lambda _: None)
    plan = plan_module.make_plan(data, settings, DirichletProcess())
    path = tmp_path / "t.h5"
    create_trace(path, data, plan.options, "a test", plan.states)
    (state,) = plan.states
    state.iteration = 20
    writer = TraceWriter(path, plan.options.traced)
    writer.add(0, state, _records(state, len(plan.options.moves)))
    writer.flush()
    (tmp_path / "was run").unlink()
    for name in list(sys.modules):  # what is imported would not be run again
        if name.startswith("plugin_"):
            monkeypatch.delitem(sys.modules, name)
    return path


def _records(state: ChainState, num_moves: int) -> Records:
    labels = [state.labels] * 20
    moves = [np.zeros((num_moves, 4), np.int64)] * 20
    return Records(
        list(range(1, 21)), labels, [1] * 20, [0.0] * 20, [0.1] * 20, [(1.0,)] * 20, [()] * 20, moves=moves
    )


def commands(trace: Path, folder: Path) -> list[tuple[object, ...]]:
    return [
        ("resume", trace, "--iterations", 30),
        ("summarize", trace, "-o", folder / "out"),
        ("plot", trace, "-o", folder / "out"),
    ]


def test_code_that_only_the_trace_names_is_not_run(trace, plugin, tmp_path):
    content = trace.read_bytes()
    for arguments in commands(trace, tmp_path):
        told = refused(*arguments)
        assert f"{trace}: its likelihood is the code of a file, {plugin}:PoissonGamma, which" in told
        assert "name it with --likelihood FILE.py:PoissonGamma" in told
    assert not (tmp_path / "was run").exists()
    assert not (tmp_path / "out").exists()
    assert trace.read_bytes() == content


def test_a_path_put_into_a_trace_is_not_run(tmp_path):
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'was run')!r}, 'w')\n")
    path = made_trace(tmp_path / "t.h5")
    harm(path, option("model", {"likelihood": f"{evil}:Normal", "parameters": {}}))
    for arguments in commands(path, tmp_path):
        refused(*arguments)
    assert not (tmp_path / "was run").exists()


def test_code_that_differs_from_the_traces_is_not_run(trace, plugin, tmp_path):
    plugin.write_text(plugin.read_text() + "\n# another line\n")
    for arguments in commands(trace, tmp_path):
        told = refused(*arguments, "--likelihood", f"{plugin}:PoissonGamma")
        assert "the file is not the one that the trace was made with" in told
        assert "its content differs" in told
    assert not (tmp_path / "was run").exists()


@pytest.mark.parametrize("other", ["normal", "{plugin}:Other", "poisson-gamma"])
def test_another_likelihood_than_the_traces(other, trace, plugin, tmp_path):
    for arguments in commands(trace, tmp_path):
        told = refused(*arguments, "--likelihood", other.format(plugin=plugin))
        assert f"the trace is of '{plugin}:PoissonGamma'" in told


@pytest.mark.parametrize(
    ("likelihood", "message"),
    [
        (
            Path("plugin.py"),
            r"^`likelihood` PosixPath\('plugin.py'\): must be a text, path/to/file.py:Class$",
        ),
        (
            "none.py:PoissonGamma",
            r"^`likelihood` 'none.py:PoissonGamma': none.py: No such file or directory$",
        ),
    ],
)
def test_what_names_no_code_is_no_damage_of_the_trace(likelihood, message, trace):
    with pytest.raises(UsageError, match=message):
        open_trace(trace, likelihood=likelihood)


def test_a_tumours_trace_has_no_other_likelihood(tmp_path):
    path = made_trace(tmp_path / "t.h5")
    told = refused("summarize", path, "-o", tmp_path / "out", "--likelihood", "normal")
    assert "--likelihood 'normal': the trace is of 'pyclone'" in told


def test_code_that_the_command_names_is_run_wherever_it_lies_now(trace, plugin, tmp_path):
    moved = Path(shutil.move(plugin, tmp_path / "moved.py"))
    with Trace(trace, f"{moved}:PoissonGamma") as opened:
        model = opened.model
    assert isinstance(model, FixedModel)
    assert type(model.likelihood(())).__qualname__ == "PoissonGamma"
    assert (tmp_path / "was run").exists()
    with Trace(trace) as opened, pytest.raises(TraceError, match="the code of a file"):
        _ = opened.model


def test_resume_and_summarize_with_the_code(trace, plugin, tmp_path):
    named = ("--likelihood", f"{plugin}:PoissonGamma")
    assert call("resume", trace, "--iterations", 22, *named).exit_code == 0
    assert call("summarize", trace, "-o", tmp_path / "out", "--no-plots", *named).exit_code == 0
