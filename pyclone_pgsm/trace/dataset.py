"""The kinds of data of a run: each has a class for the data and one for the options of their model."""

from pyclone_pgsm.likelihoods.matrix import MatrixOptions
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour.options import TUMOUR, TumourOptions

Dataset = TumourData | MatrixData
Options = TumourOptions | MatrixOptions


def kind_of(likelihood: str) -> type[TumourData] | type[MatrixData]:
    """Return the kind of data that a likelihood clusters."""
    return TumourData if likelihood == TUMOUR else MatrixData
