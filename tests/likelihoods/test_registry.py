"""Likelihoods by name, from installed distributions and from files."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba._dispatcher import compute_fingerprint

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import PLUGIN

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.jit.compiling import cache_directory, compiled_for, source_digest
from pyclone_pgsm.likelihoods.contract import REGISTRY, register
from pyclone_pgsm.likelihoods.inferred import InferredModel
from pyclone_pgsm.likelihoods.registry import (
    BUILT_IN,
    GROUP,
    find_likelihood,
    installed_likelihoods,
    parameters_of,
)
from pyclone_pgsm.partition import build_partition

SCORE = Path(__file__).parents[1] / "plugins" / "score.py"
RECURSIVE = Path(__file__).parents[1] / "plugins" / "recursive.py"
SUM = "        total = 0.0\n        for d in range(self.counts.shape[1]):\n            shape = "  # in log_marginal only


def message(spec: str) -> str:
    with pytest.raises(UsageError) as caught:
        find_likelihood(spec)
    assert caught.value.__traceback__ is not None
    return str(caught.value)


def copy_of_plugin(folder: Path, *edits: tuple[str, str]) -> str:
    """The example in a file of its own, edited; returns what asks for its class."""
    text = PLUGIN.read_text()
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    folder.mkdir(exist_ok=True)
    (folder / "plugin.py").write_text(text)
    return f"{folder / 'plugin.py'}:PoissonGamma"


Distribute = Callable[..., Path]


@pytest.fixture
def distribute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Distribute:
    """Installs a distribution: its name, its entry points, and the text of its modules."""

    def install(name: str, points: dict[str, str], **modules: str) -> Path:
        folder = tmp_path / name
        info = folder / f"{name}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        lines = [f"{point} = {value}" for point, value in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)
            monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.syspath_prepend(folder)
        return folder

    return install


# built in


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_packages_own_are_found_by_name(name: str) -> None:
    likelihood = find_likelihood(name)
    assert f"{likelihood.__module__}.".startswith(f"pyclone_pgsm.likelihoods.{name}.")
    assert REGISTRY[name] is likelihood is find_likelihood(name)


def test_only_what_is_asked_for_is_imported() -> None:
    program = (
        "import sys\n"
        "from pyclone_pgsm.likelihoods.registry import BUILT_IN, find_likelihood\n"
        "find_likelihood('bernoulli')\n"
        "print([name for name in BUILT_IN if f'pyclone_pgsm.likelihoods.{name}' in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "['bernoulli']\n"


def test_a_class_registered_by_this_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood = find_likelihood(f"{PLUGIN}:PoissonGamma")
    monkeypatch.setitem(REGISTRY, "mine", likelihood)
    assert register("mine")(likelihood) is likelihood
    assert find_likelihood("mine") is likelihood


def test_an_unknown_name_is_answered_with_the_known_ones(distribute: Distribute) -> None:
    distribute("extra", {"gamma-something": "extra:Class"})
    listed = "known are bernoulli, gamma-something, normal, pyclone, and path/to/file.py:Class"
    assert message("Nromal") == (
        f"`likelihood` 'Nromal': there is none of this name (is normal meant?); {listed}"
    )
    assert message("xyz") == f"`likelihood` 'xyz': there is none of this name; {listed}"


# from files


def test_a_class_of_a_file_is_the_same_until_the_file_changes(tmp_path: Path) -> None:
    spec = copy_of_plugin(tmp_path)
    first = find_likelihood(spec)
    assert (
        first
        is find_likelihood(spec)
        is find_likelihood(os.path.relpath(tmp_path / "plugin.py") + ":PoissonGamma")
    )
    copy_of_plugin(tmp_path, ("return 1 + self", "return 2 + self"))
    second = find_likelihood(spec)
    assert second is not first
    data = np.ones((2, 3))
    assert [kind.from_data(data).stat_size() for kind in (first, second)] == [4, 5]  # type: ignore[attr-defined]
    other_folder = find_likelihood(copy_of_plugin(tmp_path / "other"))
    assert len({first, second, other_folder}) == 3
    assert len({kind.__module__ for kind in (first, second, other_folder)}) == 3


def test_the_default_of_the_optional_method_is_there_without_registering(tmp_path: Path) -> None:
    assert "log_predictives" not in PLUGIN.read_text()
    assert "register" not in PLUGIN.read_text()
    assert hasattr(find_likelihood(copy_of_plugin(tmp_path)), "log_predictives")


def test_a_file_means_what_it_means_when_imported(tmp_path: Path) -> None:
    """What this package imports from __future__ does not hold for it."""
    assert find_likelihood(copy_of_plugin(tmp_path)).__annotations__["counts"] is np.ndarray


def in_a_process(program: Path, *arguments: str, cache: Path) -> Any:
    environment = {**os.environ, "PYCLONE_PGSM_CACHE_DIR": str(cache)}
    run = subprocess.run(
        [sys.executable, program, *arguments], env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def score(spec: str, cache: Path) -> tuple[float, int]:
    """Log likelihood by a process of its own, and how many of its two functions it compiled."""
    result = in_a_process(SCORE, spec, cache=cache)
    return result["value"], sum(result["missed"])


def test_files_with_the_same_class_name_share_no_machine_code(tmp_path: Path) -> None:
    """Nor does a file that was edited."""
    one = copy_of_plugin(tmp_path / "one")
    two = copy_of_plugin(tmp_path / "two", (SUM, SUM.replace("total = 0.0", "total = 1.0")))
    cache = tmp_path / "cache"
    value, compiled = score(one, cache)
    assert compiled == 2
    assert score(two, cache) == (pytest.approx(value + 2.0, abs=1e-12), 2)
    copy_of_plugin(tmp_path / "one", (SUM, SUM.replace("total = 0.0", "total = 3.0")))
    assert score(one, cache) == (pytest.approx(value + 6.0, abs=1e-12), 2)
    assert score(two, cache) == (pytest.approx(value + 2.0, abs=1e-12), 0)


def test_machine_code_that_two_processes_kept_is_not_mixed_up(tmp_path: Path) -> None:
    """Names of functions in machine code were the same, and the linker took the first of the two."""
    text = PLUGIN.read_text()
    assert text.count("- math.lgamma(shape)\n") == 1
    (tmp_path / "one.py").write_text(text)
    (tmp_path / "two.py").write_text(text.replace("- math.lgamma(shape)\n", "- math.lgamma(shape) + 1.0\n"))

    def values(*modules: str) -> list[list[Any]]:
        return in_a_process(RECURSIVE, str(tmp_path), *modules, cache=tmp_path / "cache")  # type: ignore[no-any-return]

    ((one, found),) = values("one")
    assert not found
    ((two, found),) = values("two")
    assert not found
    assert two == pytest.approx(one + 3.0)
    assert values("one", "two") == [[one, True], [two, True]]
    assert values("two", "one") == [[two, True], [one, True]]


def test_a_call_of_compiled_code_finds_its_class_at_once(tmp_path: Path) -> None:
    """Not so, were the names and fields of two classes the same."""
    kinds: list[Any] = [find_likelihood(copy_of_plugin(tmp_path / folder)) for folder in ("one", "two")]
    one, two = (kind.from_data(np.array([[3.0], [1.0]])) for kind in kinds)
    assert [kind.__qualname__ for kind in kinds] == ["PoissonGamma", "PoissonGamma"]
    assert compute_fingerprint(one) != compute_fingerprint(two)
    assert str(numba.typeof(one)) != str(numba.typeof(two))
    assert pickle.loads(pickle.dumps(kinds[0])) is kinds[0]


def test_a_likelihood_of_a_file_is_unpickled_by_another_process_unless_the_file_changed(
    tmp_path: Path,
) -> None:
    spec = copy_of_plugin(tmp_path)
    kind: Any = find_likelihood(spec)
    (tmp_path / "pickled").write_bytes(pickle.dumps(kind.from_data(np.array([[3.0], [4.0]]))))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).counts.tolist())"
    run = [sys.executable, "-c", program, str(tmp_path / "pickled")]
    found = subprocess.run(run, capture_output=True, text=True)
    assert found.stdout == "[[3.0], [4.0]]\n", found.stderr
    copy_of_plugin(tmp_path, (SUM, SUM.replace("total = 0.0", "total = 1.0")))
    with pytest.raises(UsageError, match="the file is not the one with which this was pickled"):
        pickle.loads((tmp_path / "pickled").read_bytes())


def test_an_inferred_likelihood_of_a_file_is_unpickled_by_another_process(tmp_path: Path) -> None:
    choices = "    @classmethod\n    def choices(cls, data):\n        return {'rate': log_uniform((0.5, 1.0), 1.0)}\n\n"
    spec = copy_of_plugin(
        tmp_path,
        ("import numba\n", "import numba\nfrom pyclone_pgsm.likelihoods.choice import log_uniform\n"),
        ("    def stat_size(self):", choices + "    def stat_size(self):"),
    )
    model = InferredModel(spec, find_likelihood(spec), np.array([[3.0], [4.0]]), {"rate": "infer"})
    (tmp_path / "pickled").write_bytes(pickle.dumps(model))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).likelihood((0.5,)).rate)"
    run = [sys.executable, "-c", program, str(tmp_path / "pickled")]
    found = subprocess.run(run, capture_output=True, text=True)
    assert found.stdout == "0.5\n", found.stderr
    copy_of_plugin(tmp_path)
    with pytest.raises(UsageError, match="the file is not the one with which this was pickled"):
        pickle.loads((tmp_path / "pickled").read_bytes())


def test_an_edit_after_the_import_does_not_reach_the_cache(tmp_path: Path) -> None:
    """The class that is in memory is the old one; its machine code must not be kept as the new one's."""
    spec = copy_of_plugin(tmp_path)
    likelihood = find_likelihood(spec)
    digest = source_digest(likelihood)
    copy_of_plugin(tmp_path, (SUM, SUM.replace("total = 0.0", "total = 1.0")))
    assert source_digest(likelihood) == digest
    assert source_digest(find_likelihood(spec)) != digest


def test_a_neighbour_in_the_same_package_counts_as_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    def digest(helper: str) -> str | None:
        (tmp_path / "family" / "deep").mkdir(parents=True, exist_ok=True)
        (tmp_path / "family" / "__init__.py").touch()
        (tmp_path / "family" / "deep" / "helper.py").write_text(helper)
        shutil.copy(PLUGIN, tmp_path / "family" / "counts.py")
        for name in ("family", "family.counts"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        return source_digest(__import__("family.counts").counts.PoissonGamma)

    first = digest("VALUE = 1\n")
    assert first is not None
    assert digest("VALUE = 1\n") == first
    assert digest("VALUE = 2\n") != first


def test_a_class_without_a_name_in_a_module_is_compiled_but_not_kept(tmp_path: Path) -> None:
    named: Any = find_likelihood(copy_of_plugin(tmp_path))
    nameless = type("Nameless", (named,), {})
    assert source_digest(nameless) is None
    build = compiled_for(build_partition, nameless)
    likelihood = nameless(*named.from_data(np.array([[1.0], [2.0]])))
    partition = build(likelihood, np.zeros(2, np.int32))
    assert partition.stats[0].tolist() == [2.0, 3.0]
    assert not list((cache_directory() or tmp_path).glob("*Nameless*"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import math\nx = 1 +\n", "{file}, line 2: SyntaxError: invalid syntax"),
        (
            "\n\nimport no_such_thing\n",
            "{file}, line 3: ModuleNotFoundError: No module named 'no_such_thing'",
        ),
        (
            "import numpy as np\nnp.zeros(-1)\n",
            "{file}, line 2: ValueError: negative dimensions are not allowed",
        ),
        ("def f():\n    return 1 / 0\nf()\n", "{file}, line 2: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit('no')\n", "{file}, line 2: SystemExit: no"),
        (
            "x = 1\nopen('/nowhere')\n",
            "{file}, line 2: FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'",
        ),
    ],
)
def test_why_a_file_cannot_be_imported(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "bad.py"
    file.write_text(text)
    expected = reason.format(file=file)
    before = set(sys.modules)
    assert message(f"{file}:Class") == f"`likelihood` '{file}:Class': cannot be imported: {expected}"
    assert not [name for name in set(sys.modules) - before if name.startswith("bad_")]
    file.write_text(PLUGIN.read_text())
    assert find_likelihood(f"{file}:PoissonGamma").__qualname__ == "PoissonGamma"


def test_a_file_or_class_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "no.py"
    assert (
        message(f"{missing}:Class") == f"`likelihood` '{missing}:Class': {missing}: No such file or directory"
    )
    folder = tmp_path / "folder.py"
    folder.mkdir()
    assert message(f"{folder}:Class") == f"`likelihood` '{folder}:Class': {folder}: Is a directory"

    file = tmp_path / "plugin.py"
    copy_of_plugin(tmp_path)
    assert message(str(file)) == f"`likelihood` '{file}': name the class in the file, too: {file}:Class"
    there = f"{file} has no class 'Poison'; the classes there: PoissonGamma"
    assert message(f"{file}:Poison") == f"`likelihood` '{file}:Poison': {there}"
    assert find_likelihood(f"{file}:PoissonGamma")
    assert message(f"{file}:Poison") == f"`likelihood` '{file}:Poison': {there}"
    file.write_text("import pathlib\nfrom pathlib import Path\nThing = 3\n")
    assert (
        message(f"{file}:Thing")
        == f"`likelihood` '{file}:Thing': {file} has no class 'Thing'; the classes there: none"
    )


def test_a_class_that_does_not_keep_the_contract(tmp_path: Path) -> None:
    spec = copy_of_plugin(tmp_path, ("def remove(self, stat, i)", "def take_out(self, stat, i)"))
    assert message(spec) == (
        f"`likelihood` '{spec}': PoissonGamma is not a likelihood: the method remove(self, stat, i) is missing"
    )


def test_from_data_that_is_no_class_method(tmp_path: Path) -> None:
    spec = copy_of_plugin(tmp_path, ("    @classmethod\n    def from_data", "    def from_data"))
    text = "PoissonGamma is not a likelihood: the method from_data must be a class method: write @classmethod above it"
    assert message(spec) == f"`likelihood` '{spec}': {text}"


def test_parameters_without_a_name_are_none_of_the_users(tmp_path: Path) -> None:
    spec = copy_of_plugin(
        tmp_path, ("data, shape=1.0, rate=0.1)", "data, *more, shape=1.0, rate=0.1, **others)")
    )
    assert parameters_of(find_likelihood(spec)) == {"shape": 1.0, "rate": 0.1}


# from installed distributions


def test_an_entry_point_is_found(distribute: Distribute) -> None:
    distribute("counting", {"counts": "counting_module:PoissonGamma"}, counting_module=PLUGIN.read_text())
    likelihood = find_likelihood("counts")
    assert (likelihood.__module__, likelihood.__qualname__) == ("counting_module", "PoissonGamma")
    assert find_likelihood("counts") is likelihood
    assert source_digest(likelihood) is not None


def test_one_that_is_broken_does_not_break_the_others(distribute: Distribute) -> None:
    folder = distribute(
        "broken",
        {
            "no-import": "broken_module:Class",
            "no-module": "absent_module:Class",
            "no-class": "healthy_module:Class",
            "no-likelihood": "healthy_module:Empty",
            "function": "healthy_module:function",
        },
        broken_module="x = 1\nx.y\n",
        healthy_module="class Empty:\n    pass\ndef function():\n    pass\n",
    )
    infos = {info.name: info for info in installed_likelihoods()}
    broken = sorted(name for name, info in infos.items() if info.problem)
    assert broken == ["function", "no-class", "no-import", "no-likelihood", "no-module"]
    assert {name for name in infos if name not in broken} >= set(BUILT_IN)

    def who(name: str, value: str) -> str:
        return f"`likelihood` '{name}' of broken 1.2 ({value})"

    assert infos["no-import"].problem == (
        f"{who('no-import', 'broken_module:Class')}: cannot be imported: "
        f"{folder / 'broken_module.py'}, line 2: AttributeError: 'int' object has no attribute 'y'"
    )
    assert infos["no-import"].source == "broken 1.2 (broken_module:Class)"
    assert infos["no-module"].problem == (
        f"{who('no-module', 'absent_module:Class')}: cannot be imported: "
        "ModuleNotFoundError: No module named 'absent_module'"
    )
    assert infos["no-class"].problem == (
        f"{who('no-class', 'healthy_module:Class')}: cannot be imported: "
        "AttributeError: module 'healthy_module' has no attribute 'Class'"
    )
    assert infos["function"].problem == f"{who('function', 'healthy_module:function')}: not a class"
    no_likelihood = infos["no-likelihood"].problem or ""
    assert no_likelihood.startswith(
        f"{who('no-likelihood', 'healthy_module:Empty')}: Empty is not a likelihood: it must be a typing.NamedTuple"
    )
    for name in broken:
        assert message(name) == infos[name].problem
    assert find_likelihood("normal").__name__ == "Normal"


def test_a_name_that_two_have(distribute: Distribute) -> None:
    distribute("first", {"counts": "counting_module:PoissonGamma"})
    distribute("second", {"counts": "counting_module:PoissonGamma", "normal": "counting_module:PoissonGamma"})
    assert message("counts") == (
        "`likelihood` 'counts': second 1.2 (counting_module:PoissonGamma) and "
        "first 1.2 (counting_module:PoissonGamma) have this name"
    )
    assert find_likelihood("normal").__module__ == "pyclone_pgsm.likelihoods.normal"
    problems = [
        (info.name, info.problem) for info in installed_likelihoods() if info.name in ("counts", "normal")
    ]
    taken = "another likelihood has this name"
    assert problems == [("counts", taken), ("counts", taken), ("normal", None), ("normal", taken)]


def test_what_is_told_about_a_likelihood(distribute: Distribute) -> None:
    distribute("counting", {"counts": "counting_module:PoissonGamma"}, counting_module=PLUGIN.read_text())
    infos = {info.name: info for info in installed_likelihoods()}
    counts = infos["counts"]
    assert counts.source == "counting 1.2 (counting_module:PoissonGamma)"
    assert counts.summary == "Counts: Poisson in each column, with a Gamma prior on the means."
    assert counts.parameters == {"shape": 1.0, "rate": 0.1}
    assert counts.takes_tables
    assert infos["bernoulli"].source == "built in"
    assert infos["bernoulli"].parameters == {"a0": 1.0, "b0": 1.0}
    assert set(infos["normal"].parameters) == {"nu0", "r0", "u0", "S0", "scale"}
    assert all(infos[name].summary for name in BUILT_IN)
    assert not infos["pyclone"].takes_tables
    assert infos["pyclone"].parameters == {}
    assert inspect.Parameter.empty not in counts.parameters.values()
