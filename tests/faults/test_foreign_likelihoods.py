"""A likelihood from a file that fails: exit code 2, the likelihood named, the cause in one line, nothing written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.clustering import cluster
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.foreign import LONGEST, blamed, cause
from pyclone_pgsm.sampling.settings import Settings

SOURCE = '''
import numpy as np
from typing import NamedTuple

class Counting(NamedTuple):
    """Every cluster as likely as any other."""
    x: np.ndarray

    @classmethod
    def from_data(cls, data):
        {from_data}
        return cls(data)

    def stat_size(self):
        return {stat_size}

    def clear(self, stat):
        stat[:] = 0.0

    def add(self, stat, i):
        {add}
        stat[0] += 1.0

    def remove(self, stat, i):
        stat[0] -= 1.0

    def add_many(self, stat, members):
        for i in members:
            self.add(stat, i)

    def log_prior_predictive(self, i):
        return -1.0

    def log_predictive(self, stat, i, negligible):
        return {log_predictive}

    def log_predictive_without(self, stat, i):
        return -1.0

    def log_marginal(self, stat):
        return {log_marginal}

    def log_constant(self):
        return 0.0

    def cluster_parameters(self, stat):
        {cluster_parameters}
        return {{"rows": stat[:1]}}
'''
CHOICES = """
    @classmethod
    def from_data(cls, data, a=1.0):
        return cls(data)

    @classmethod
    def choices(cls, data):
        from pyclone_pgsm.likelihoods.choice import Choice
        return {}
"""
RETURNED = 'return {"rows": stat[:1]}\n'
DENSITY = """
    def log_predictive_new(self, stat, x):
        {}
        return -1.0
"""
DEFAULT = """
    @classmethod
    def inferred_by_default(cls, data, given):
        return ["gamma"]
"""
SOUND = {
    "from_data": "pass",
    "stat_size": "2",
    "add": "pass",
    "log_predictive": "-1.0",
    "log_marginal": "-stat[0]",
    "cluster_parameters": "pass",
}


def told(folder: Path, *more: str, **changed: str) -> tuple[int, str]:
    """Exit code and message of a clustering with the likelihood, changed so; and no file is left if it failed."""
    file, data, out = folder / "counting.py", folder / "data.csv", folder / "out"
    file.write_text(SOURCE.format(**{**SOUND, **changed}))
    data.write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(20)))
    options = ["--iterations", "6", "--chains", "1", "--threads", "1", "--no-plots", "--quiet"]
    options += ["--sampler", "gibbs"]  # every file is compiled anew, of other samplers much more
    result = CliRunner().invoke(
        cli.app, ["cluster", str(data), "--likelihood", f"{file}:Counting", "-o", str(out), *options, *more]
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if result.exit_code:
        assert f"--likelihood '{file}:Counting'" in result.stderr
        assert len(result.stderr) < 2 * LONGEST + len(str(file))
        assert len(result.stderr.splitlines()) == 1
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ("None", "choices: returned None; it must return a dict of objects of the class Choice"),
        ("{'a': [1.0, 2.0]}", "choices: returned {'a': [1.0, 2.0]}; it must return a dict of objects"),
        ("{'a': Choice((2.0, 1.0), (1, 1), 1.0)}", "values of a must be finite numbers in increasing order"),
        ("{'a': Choice((1.0, 2.0), (1, 0), 1.0)}", "the prior of a must have a positive number for each"),
        ("{'a': Choice((1.0, 2.0), (1,), 1.0)}", "the prior of a must have a positive number for each"),
        ("{'a': Choice((1.0, 2.0), (1, 1), 1.5)}", "choices: the start of a, 1.5, is not among its values"),
        *[
            (
                f"{{'a': Choice((1.0, 2.0), (1, 1), 1.0, {jumps})}}",
                "the jumps of a must be whole numbers above 0",
            )
            for jumps in ("()", "(0,)", "(1.5,)", "2", "'1'")
        ],
        (
            "{'a': Choice((1.0, 2.0), (1, 1), 1.0, (1,), 1.5)}",
            "the independence_share of a must be from 0 to 1",
        ),
    ],
)
def test_choices_that_are_none(tmp_path: Path, choices: str, message: str) -> None:
    changed = {"cluster_parameters": "pass\n" + CHOICES.format(choices)}
    code, text = told(tmp_path, "--param", "a=infer", **changed)
    assert code == 2
    assert message in text


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"from_data": "data[0, 99]"}, "counting.py, line 11: IndexError: index 99 is out of bounds"),
        ({"from_data": "raise ValueError('not these\\nthank you')"}, "line 11: ValueError: not these"),
        (
            {"from_data": "return None"},
            "from_data returned an object of type NoneType; it must return one of",
        ),
        (
            {"from_data": "data -= 1.0"},
            "from_data, or another of its class methods, changes the data that it is given, which are also those of",
        ),
        ({"stat_size": "-3"}, "stat_size() returned -3; it must return a positive integer"),
        ({"stat_size": "2.5"}, "stat_size() returned 2.5; it must return a positive integer"),
        ({"stat_size": "1 // 0"}, "ZeroDivisionError"),
        ({"stat_size": "10**13"}, "GB of memory"),
        ({"log_predictive": "np.nan"}, "log_predictive returned nan for observation 4 (counted from 0)"),
        ({"log_predictive": "np.inf"}, "log_predictive returned inf for observation 4"),
        (
            {"log_predictive": "-np.inf"},
            "log_predictive returned -inf for observation 4 (counted from 0); it must return the log of a density, "
            "which is positive and finite",
        ),
        ({"log_marginal": "np.nan"}, "log_marginal returned nan for observation 0"),
        (
            {"log_marginal": "np.nan if stat[0] > 3.0 else -stat[0]"},
            "log_marginal returned nan for observation 0",
        ),
        ({"cluster_parameters": "if stat[0] > 1.0: raise KeyError('gone')"}, "KeyError: 'gone'"),
        ({"add": "stat[7] = 1.0"}, "counting.py, line 21: IndexError"),
        ({"add": "stat[0] += many"}, "counting.py, line 21: NameError: name 'many' is not defined"),
        (
            {"cluster_parameters": f"pass\n{DEFAULT}"},
            "inferred_by_default returned gamma, which is no parameter",
        ),
        ({"cluster_parameters": "stat.foo"}, "counting.py, line 47: AttributeError"),
        (
            {"cluster_parameters": "return stat"},
            "cluster_parameters returned array([1., 0.]); it must return a",
        ),
        ({"cluster_parameters": "return {'a': 'x'}"}, "returned 'x' as a; it must be an array of numbers"),
        ({"cluster_parameters": "return {'a_sd': 1}"}, "cluster_parameters returned a_sd without a"),
        (
            {"cluster_parameters": "return {'a': np.ones(2), 'a_sd': 1}"},
            "cluster_parameters returned a_sd of the shape (); its shape must be that of a, (2,)",
        ),
        (
            {"cluster_parameters": "return {'a\\tb': 1}"},
            "cluster_parameters returned the name 'a\\tb'; it must be a text of one line",
        ),
        (
            {"cluster_parameters": "return {3: 1}"},
            "cluster_parameters returned the name 3; it must be a text",
        ),
        (
            {"cluster_parameters": "return {'size': 1}"},
            "cluster_parameters returned size, which is another column of the table of clusters: rename it",
        ),
    ],
)
def test_what_plain_python_finds(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    if "GB" in message:
        file = tmp_path / "counting.py"
        file.write_text(SOURCE.format(**{**SOUND, **changed}))
        (tmp_path / "data.csv").write_text("a,b\n1,2\n3,4\n")
        arguments = [
            "cluster",
            tmp_path / "data.csv",
            "--likelihood",
            f"{file}:Counting",
            "-o",
            tmp_path / "out",
        ]
        result = CliRunner().invoke(cli.app, list(map(str, arguments)))
        assert (result.exit_code, message in result.stderr) == (2, True), result.output
    else:
        code, text = told(tmp_path, **changed)
        assert (code, message in text) == (2, True), text
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"add": "stat.nonsense(3)"},
            "cannot be compiled: counting.py, line 21: Unknown attribute 'nonsense'",
        ),
        ({"add": "if stat[0] > 15.0:\n            raise ValueError('too many')"}, "ValueError: too many"),
        (
            {"cluster_parameters": RETURNED + DENSITY.format("x.nonsense(3)")},
            "cannot be compiled: counting.py, line 50: Unknown attribute 'nonsense'",
        ),
        (
            {"cluster_parameters": RETURNED + DENSITY.format("stat[0] += nowhere")},
            "cannot be compiled: NameError: name 'nowhere' is not defined",
        ),
        *[
            (
                {"cluster_parameters": RETURNED + DENSITY.format(f"return {value}")},
                f"log_predictive_new returned {value[3:]} for row 0 (counted from 0); it must return the log of",
            )
            for value in ("np.nan", "np.inf")
        ],
    ],
)
def test_what_the_first_iteration_finds(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    code, text = told(tmp_path, **changed)
    assert (code, message in text) == (2, True), text
    assert not (tmp_path / "out").exists()


def test_a_density_that_is_none(tmp_path: Path) -> None:
    """Blocks of one, of all rows and of all but one are tried before."""
    wrong = "np.nan if 1.0 < stat[0] < 19.0 else -stat[0]"
    code, text = told(tmp_path, "--init", "random:3", log_marginal=wrong)
    assert (code, "log joint density is nan in iteration 1" in text) == (2, True), text
    assert not (tmp_path / "out").exists()


def test_what_the_summary_finds_keeps_the_trace(tmp_path: Path) -> None:
    code, text = told(tmp_path, cluster_parameters="if 1.0 < stat[0] < 20.0: raise KeyError('gone')")
    assert (code, "KeyError: 'gone'" in text) == (2, True), text
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["trace.h5"]


def test_new_rows_for_which_the_density_fails(tmp_path: Path) -> None:
    file, data = tmp_path / "counting.py", np.array([[1.0, 2.0], [2.0, 3.0]])
    density = DENSITY.format("if x[0] > 5.0:\n            raise ValueError('too large')")
    file.write_text(SOURCE.format(**{**SOUND, "cluster_parameters": RETURNED + density}))
    settings = Settings(iterations=4, chains=1, sampler="gibbs")
    found = cluster(data, f"{file}:Counting", settings=settings)
    assert found.log_predictive(data).tolist() == pytest.approx([-1.0, -1.0])
    for density_of in (found.log_predictive, found.predict_proba):
        with pytest.raises(UsageError, match=r"counting.py:Counting': .*ValueError: too large$"):
            density_of([[9.0, 0.0]])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1 / 0", r"missing, since it failed: .*counting.py:Counting': .*ZeroDivisionError"),
        ("return None", r"missing, since it failed: .*counting.py:Counting': .*'NoneType'"),
        ("return ['odd data']", "^odd data$"),
    ],
)
def test_warnings_that_fail_lose_no_run(tmp_path: Path, body: str, expected: str) -> None:
    """They are asked for after the chains."""
    methods = "".join(
        f"\n    @staticmethod\n    def {name}(data, other):\n        {body}\n"
        for name in ("doubts", "doubts_of_clusters")
    )
    file = tmp_path / "counting.py"
    file.write_text(SOURCE.format(**{**SOUND, "cluster_parameters": RETURNED + methods}))
    settings = Settings(iterations=4, chains=1, sampler="gibbs")
    found = cluster(np.array([[1.0, 2.0], [2.0, 3.0]]), f"{file}:Counting", settings=settings)
    assert sum(re.search(expected, each) is not None for each in found.warnings) == 2


def test_a_sound_one_runs(tmp_path: Path) -> None:
    assert told(tmp_path) == (0, "")


@pytest.mark.parametrize("ending", ["", "; raise ValueError('then this')"])
def test_the_users_array_stays_as_it_is(tmp_path: Path, ending: str) -> None:
    file, data = tmp_path / "counting.py", np.array([[1.0, np.nan], [2.0, 3.0]])
    file.write_text(SOURCE.format(**{**SOUND, "from_data": "data[np.isnan(data)] = 0.0" + ending}))
    before = data.copy()
    with pytest.raises(UsageError, match="ValueError: then this" if ending else "it must change a copy$"):
        cluster(data, f"{file}:Counting")
    np.testing.assert_array_equal(data, before)


def test_values_below_0_are_inferred(tmp_path: Path) -> None:
    choices = CHOICES.format("{'a': Choice((-2.0, -1.0), (1, 1), -1.0)}")
    assert told(tmp_path, "--param", "a=infer", cluster_parameters=RETURNED + choices) == (0, "")


def test_whole_numbers_that_are_inferred_stay_whole(tmp_path: Path) -> None:
    """They are floats in the trace."""
    choices = CHOICES.format("{'a': Choice((1, 2), (1, 1), 1)}")
    choices = choices.replace("return cls(data)", "return cls(data[:, :a].copy())")
    assert told(tmp_path, "--param", "a=infer", cluster_parameters=RETURNED + choices) == (0, "")


def test_the_own_likelihoods_are_not_blamed() -> None:
    """A fault of the program stays one."""
    with pytest.raises(ZeroDivisionError), blamed("normal"):
        raise ZeroDivisionError
    with pytest.raises(OSError, match="full"), blamed("a.py:B"):
        raise OSError("full")
    with pytest.raises(UsageError, match=r"^`likelihood` 'a.py:B': ValueError: why$"), blamed("a.py:B"):
        raise ValueError("why\nmore")
    assert len(cause(ValueError("x" * 9000), "a.py:B")) < LONGEST + 10


def test_numba_is_quoted_in_a_line() -> None:
    from numba import njit
    from numba.core.errors import NumbaError

    @njit
    def faulty(x):  # type: ignore[no-untyped-def]
        return x + "text"

    with pytest.raises(NumbaError) as raised:
        faulty(1.0)
    text = cause(raised.value, f"{Path(__file__).name}:B")
    assert len(str(raised.value)) > 500
    assert text.startswith(
        f"its methods cannot be compiled: {Path(__file__).name}, line {faulty_line()}: there is no"
    )
    assert "\n" not in text


def faulty_line() -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.endswith('return x + "text"'))
