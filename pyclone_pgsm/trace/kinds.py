"""The kinds of data that a trace can hold: one entry each."""

from __future__ import annotations

from pyclone_pgsm.trace.dataset import Kind
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour.options import TUMOUR

KINDS: dict[str, Kind] = {TUMOUR: TumourData}
"""By the likelihood that clusters them; every other likelihood clusters the rows of a matrix."""


def kind_of(likelihood: str) -> Kind:
    """The kind of data that a likelihood clusters."""
    return KINDS.get(likelihood, MatrixData)
