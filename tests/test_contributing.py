"""What CONTRIBUTING.md says about where things are is true."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import pyclone_pgsm

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
PACKAGE = Path(pyclone_pgsm.__file__).parent
ROWS = re.findall(
    r"^\| ((?:Equation|Algorithm|Section|Appendix)[^|]*) \|[^|]*\| `([^`]*)` \| (.*) \|$", TEXT, re.M
)


@pytest.mark.parametrize(("of_paper", "file", "functions"), ROWS)
def test_what_the_paper_has_is_where_the_table_says(of_paper: str, file: str, functions: str) -> None:
    assert (PACKAGE / file).is_file()
    parts = Path(file).with_suffix("").parts
    module = importlib.import_module(".".join(["pyclone_pgsm", *parts]).removesuffix(".__init__"))
    names = re.findall(r"`(\w+)`", functions)
    assert names
    for name in names:
        assert hasattr(module, name), f"{of_paper}: {file} has no {name}"


def test_the_table_has_all_that_a_reader_looks_for() -> None:
    found = {row[0].partition(",")[0] for row in ROWS}
    wanted = {"Algorithm 1", "Algorithm 2", "Algorithm 3", "Equation 5", "Section 3.4", "Section 3.5"}
    assert found >= wanted | {"Appendix C", "Appendix D"}


FILES = re.findall(r"`([\w/]+\.py)`", TEXT)
WALK = re.findall(
    r"`([\w/]+\.py)`", TEXT[TEXT.index("## A row of your table") : TEXT.index("A matrix (`pyclone-pgsm")]
)


@pytest.mark.parametrize("file", sorted(set(FILES)))
def test_every_file_that_is_named_is_there(file: str) -> None:
    assert (PACKAGE / file).is_file() or (PACKAGE.parent / file).is_file()


def test_the_walk_is_short() -> None:
    """From a row of a table to its cluster through 25 modules at most."""
    assert len(WALK) == len(set(WALK))
    assert 20 < len(WALK) <= 25
