"""The kinds of data that can be analysed: one entry each."""

from pyclone_pgsm.analyses.matrix import MatrixAnalysis
from pyclone_pgsm.analyses.protocol import Analysis
from pyclone_pgsm.analyses.tumour import TumourAnalysis

ANALYSES: dict[str, Analysis] = {analysis.kind: analysis for analysis in (TumourAnalysis(), MatrixAnalysis())}
"""By the name ``kind`` that data, summary and analysis share."""
