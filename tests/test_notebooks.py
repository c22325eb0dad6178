"""The notebooks of docs/notebooks run from end to end, and are stored with small outputs or none."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_both() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["mixture", "tumour"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_small_and_clean(path: Path) -> None:
    assert path.stat().st_size < 100_000
    for cell in nbformat.read(path, 4).cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            assert output.get("name") != "stderr"


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    stored = [kinds(cell) for cell in notebook.cells]
    client = NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()  # type: ignore[no-untyped-call]
    assert [kinds(cell) for cell in notebook.cells] == stored


def kinds(cell: nbformat.NotebookNode) -> set[str]:
    """What a cell shows: the kinds of its outputs, but for what is said on stderr."""
    shown = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
    return {kind for output in shown for kind in ("text", *output.get("data", {}))}
