"""The README and the pages in docs/: their examples run, links lead somewhere, and commands have their options."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from small_runs import run

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *ROOT.glob("workflows/*/README.md"),
        *ROOT.glob("examples/*/README.md"),
        *ROOT.glob("example_data/README.md"),
    }
)
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_readme_is_short_and_has_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 200
    for ending in ("pyclone-pgsm analyze", "pytest"):
        assert sum(bool(re.match(f"^python3 -m venv .*{ending}", line)) for line in lines) == 1


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            if anchor and target.suffix == ".md" and "<!--" not in target.read_text(encoding="utf-8"):
                assert anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as GitHub and Sphinx make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_of(page: Path) -> Iterator[list[str]]:
    """The calls of pyclone-pgsm in a page, in blocks of code and within lines, as words."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"`(pyclone-pgsm [^`]+)`", text)
    for language, block in re.findall(r"^ *```(\w*).*?\n(.*?)^ *```$", text, re.M | re.S):
        if language in ("", "sh"):
            lines += block.replace("\\\n", " ").splitlines()
    for line in lines:
        words = shlex.split(line) if re.search(r"pyclone-pgsm [a-z-]", line) else []
        for at, word in enumerate(words[:-1]):
            if word == "pyclone-pgsm" and (at == 0 or words[at + 1] in COMMANDS):
                yield words[at + 1 :]


def check_call(words: list[str]) -> None:
    name, *rest = words
    assert name in COMMANDS or name in ("COMMAND", "--version"), words
    if name in COMMANDS:
        known = {each for option in COMMANDS[name].params for each in [*option.opts, *option.secondary_opts]}
        for word in rest:
            if word in ("|", "&&", ";", ">", "#"):
                break
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in known | {"--help"}, words


def test_commands_in_the_pages_have_their_options() -> None:
    calls = [(page, words) for page in PAGES for words in commands_of(page)]
    assert len(calls) > 50
    assert {words[0] for _, words in calls} >= {"analyze", "cluster", "export", "resume", "score", "simulate"}
    for page, words in calls:
        if page.name != "exports.md" or "RESULT" not in words:
            check_call(words)


def test_extras_and_environments_are_those_of_the_package() -> None:
    """Extras that pages name exist, and the workflows' environments have what the package needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for page in PAGES:
        for extras in re.findall(r"(?:\.|pyclone-pgsm)\[([a-z,]+)\]", page.read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), page
    for file in ROOT.glob("workflows/*/environment.yaml"):
        lines = re.findall(r"^  - ([a-z0-9]+)(?:-base)? (>=.*)$", file.read_text(), re.M)
        needed = [*project["dependencies"], f"python{project['requires-python']}"]
        assert sorted(map("".join, lines)) == sorted(needed), file


def test_each_command_has_examples_in_its_help() -> None:
    for name, command in COMMANDS.items():
        title, *calls = command.epilog.split("\n\n")
        assert title == "Examples:"
        assert calls
        for call in calls:
            program, *words = shlex.split(call)
            assert (program, words[0]) == ("pyclone-pgsm", name)
            check_call(words)


@pytest.fixture(scope="module")
def reference_pages() -> ModuleType:
    """What makes the generated pages."""
    spec = importlib.util.spec_from_file_location("reference_pages", DOCS / "reference_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_every_option(reference_pages: ModuleType) -> None:
    text = reference_pages.commands()
    sections = dict(zip(re.findall(r"^## (.*)$", text, re.M), re.split(r"^## .*$", text, flags=re.M)[1:]))
    assert set(sections) == set(COMMANDS)
    for name, command in COMMANDS.items():
        rows = re.findall(r"^\| (`-.*?) \| .*? \| (.*) \|$", sections[name], re.M)
        options = [each for each in command.params if each.param_type_name == "option"]
        assert len(rows) == len(options)
        for option in options:
            (text,) = [text for names, text in rows if f"`{option.opts[-1]}`" in names]
            assert text.strip()
            assert option.is_flag or option.metavar


def test_what_is_generated_is_used_once(reference_pages: ModuleType) -> None:
    asked = [
        name
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"^<!-- (.*) -->$", page.read_text(encoding="utf-8"), re.M)
    ]
    assert sorted(asked) == sorted(reference_pages.GENERATED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a result where the README's first command puts it, and in `out`."""
    place = tmp_path_factory.mktemp("example")
    (place / "example_data" / "out").mkdir(parents=True)
    trace = place / "example_data" / "out" / "trace.h5"
    run(trace, iterations=60, burn_in=30)
    analysis.write_results(trace, trace.parent, formats=())
    (place / "out").symlink_to(trace.parent)
    return place


def python_of(page: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S))


@pytest.mark.parametrize(
    ("page", "printed"), [("README.md", "status"), ("docs/reference/trace.md", "(60, ")], ids=str
)
def test_python_of_a_tumour_runs(
    page: str, printed: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Callable[..., Any]
) -> None:
    monkeypatch.chdir(folder)
    exec(compile(python_of(ROOT / page), page, "exec"), {})
    assert printed in capsys.readouterr().out  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_python_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.sub("^```.*$", "", (DOCS / "python.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    page = doctest.DocTestParser().get_doctest(text, {}, "python.md", "docs/python.md", 0)
    assert len(page.examples) > 30
    assert doctest.DocTestRunner().run(page).failed == 0
    assert (tmp_path / "found.h5").exists()
