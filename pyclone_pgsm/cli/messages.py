"""What the terminal says of a result."""

from __future__ import annotations

import math
from typing import Any

from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.posterior.summarize import Result
from pyclone_pgsm.posterior.verdict import verdict_line
from pyclone_pgsm.tumour.base_measure import is_weight


def summary_lines(result: Result[Any], left_out: int) -> list[str]:
    """What was clustered, clusters with sizes and parameters, convergence and warnings: lines for the terminal."""
    lines = ANALYSES[result.summary.kind].lines(result, left_out)
    told = [d for d in result.diagnostics if not math.isnan(d.rhat)]
    convergence = [f"{d.name} {d.rhat:.2f}" for d in told if not is_weight(d.name)]
    weights = [d.rhat for d in told if is_weight(d.name)]
    if weights:
        convergence.append(f"weights of the prevalence prior at most {max(weights):.2f}")
    if convergence:
        lines.append(f"R-hat (agreement of the chains, good below 1.05): {', '.join(convergence)}")
    lines.append(verdict_line(result.convergence))
    lines += [f"warning: {warning}" for warning in result.warnings]
    return lines
