"""Imports run one way: a module imports only from layers below its own, and never in a circle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pyclone_pgsm

PACKAGE = Path(pyclone_pgsm.__file__).parent

LAYERS = (
    {"errors", "labels", "machine", "stopping"},
    {"processes", "ranges"},
    {"files"},
    {"locks", "tsv"},
    {"jit"},
    {"partition"},
    {"priors", "likelihoods", "inputs"},
    {"samplers", "tumour"},
    {"sampling"},
    {"trace", "scoring"},
    {"posterior"},
    {"plots", "exports", "arviz"},
    {"report"},
    {"analyses", "simulate"},
    {"results", "testing"},
    {"analysis", "clustering"},
    {"estimator", "opening"},
    {"cli"},
    {"__main__"},
)
"""From the ground up. Parts of one layer do not know of each other, but for ``BESIDE``."""
BESIDE = {("simulate", "analyses"), ("tumour", "samplers")}
"""(importer, imported) of the same layer."""

LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
UNKNOWN = {
    "samplers": {"inputs", "tumour", "files"},
    "sampling": {"inputs", "tumour", "files"},
    "inputs": {"likelihoods", "tumour", "samplers"},
    "likelihoods": {"samplers", "inputs", "tumour"},
}
"""What the engine, the readers and the likelihoods must not know, wherever it stands."""


def modules() -> dict[str, Path]:
    """Dotted names, without that of the package, and their files."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


MODULES = modules()


def imports(name: str) -> set[str]:
    """Modules of the package that a module imports, at its top or in a function; those for types alone, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyclone_pgsm."):
            module = (node.module or "").removeprefix("pyclone_pgsm.")
            for alias in node.names:
                full = f"{module}.{alias.name}"
                found.add(full if full in MODULES else module)
        elif isinstance(node, ast.ImportFrom) and node.module == "pyclone_pgsm":
            found |= {alias.name for alias in node.names if alias.name in MODULES}
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("pyclone_pgsm.")]
            found |= {name.removeprefix("pyclone_pgsm.") for name in names}
    return found - {name}


def part(name: str) -> str:
    return name.partition(".")[0]


def test_every_part_has_a_layer() -> None:
    assert {part(name) for name in MODULES} == set(LEVEL)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_import_from_above(name: str) -> None:
    mine = part(name)
    others = {part(other) for other in imports(name)} - {mine}
    above = {other for other in others if LEVEL[other] >= LEVEL[mine] and (mine, other) not in BESIDE}
    assert above == set()
    assert others & UNKNOWN.get(mine, set()) == set()


def test_no_circle() -> None:
    graph = {name: imports(name) for name in MODULES}
    while graph:
        leaves = {name for name, needed in graph.items() if not needed & set(graph)}
        assert leaves, f"these import each other: {', '.join(sorted(graph))}"
        graph = {name: needed for name, needed in graph.items() if name not in leaves}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_nothing_is_too_long_to_read(name: str) -> None:
    """A module has at most 450 lines, and a function 80 besides its docstring."""
    source = MODULES[name].read_text()
    assert source.count("\n") <= 450
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = node.body[0]
            is_docstring = isinstance(start, ast.Expr) and isinstance(start.value, ast.Constant)
            length = (node.end_lineno or 0) - node.lineno + 1
            if is_docstring:
                length -= (start.end_lineno or 0) - start.lineno + 1
            assert length <= 80, node.name
