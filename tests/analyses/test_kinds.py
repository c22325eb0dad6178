"""A kind of data is one class in the trace, one in the posterior, one in the analyses; nothing else asks for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pyclone_pgsm
from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.summarize import SUMMARISERS
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.options import kind_of
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour.options import TumourOptions

PACKAGE = Path(pyclone_pgsm.__file__).parent
KINDS = ("Observations", "DataMatrix", "TumourData", "MatrixData", "Summary", "MixtureSummary")
OWN = {
    "trace/reader.py": "Trace.data_of, the one place that refuses data of another kind than is asked for",
    "opening.py": "thresholds are of tumours only, and a matrix has more than a Result",
    "results.py": "exports are of tumours only",
}
"""Modules that may ask for the class of data or of a summary, and why."""


def test_every_layer_knows_the_same_kinds() -> None:
    assert set(ANALYSES) == set(SUMMARISERS) == {TumourData.kind, MatrixData.kind}
    assert {Summary.kind, MixtureSummary.kind} == set(ANALYSES)


@pytest.mark.parametrize(
    ("likelihood", "kind"),
    [("pyclone", TumourData), ("normal", MatrixData), ("/a/file.py:Class", MatrixData)],
)
def test_the_likelihood_tells_the_kind(likelihood: str, kind: type) -> None:
    assert kind_of(likelihood) is kind


def questions(path: Path) -> list[str]:
    """The tests of type in a module that concern kinds of data."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            names = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            if names & set(KINDS):
                found.append(ast.unparse(node))
    return found


def test_nothing_else_asks_for_the_kind() -> None:
    asking = {str(path.relative_to(PACKAGE)): questions(path) for path in PACKAGE.rglob("*.py")}
    assert {name: found for name, found in asking.items() if found and name not in OWN} == {}


@pytest.mark.parametrize(
    "options",
    [
        TumourOptions("major", "binomial", None, 101),
        TumourOptions("ab", "beta-binomial", 200.0, 51, {"S1": Uncertain(0.7, 0.1)}, 0.05, "learned"),
    ],
)
def test_options_of_a_tumour_survive_a_trace(options: TumourOptions) -> None:
    stored = options.to_dict()
    assert TumourData.read_options(stored) == options
    assert ("outlier_prob" in stored, "tumour_content" in stored) == (
        options.has_outliers,
        bool(options.tumour_content),
    )
