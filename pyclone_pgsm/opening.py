"""The result in an existing output folder or trace: :func:`open_trace`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pyclone_pgsm.analyses.run_json import how_summarised
from pyclone_pgsm.clustering import Clustering
from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.posterior.convergence import common_iterations
from pyclone_pgsm.posterior.states import Thresholds, checked_thresholds
from pyclone_pgsm.posterior.summarize import CRITERIA, summarize
from pyclone_pgsm.ranges import check_choice, check_kind, check_path
from pyclone_pgsm.results import RUN, TRACE, Result
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.tumour import TumourData


def open_trace(
    path: Path | str,
    *,
    consensus: str | None = None,
    burn_in: int | None = None,
    thresholds: Thresholds | None = None,
    likelihood: str | None = None,
) -> Result:
    """Return the result in an output folder or a trace.

    Parameters
    ----------
    path : Path or str
        A trace, or an output folder of ``analyze`` or ``cluster``, whose ``run.json`` gives defaults for the options.
    consensus : str or None
        Criterion of the consensus partition; None: that of the folder, else the default.
    burn_in : int or None
        Iterations to skip; None: those of the folder, else the burn-in of the run.
    thresholds : Thresholds or None
        Thresholds of presence and clonality; None: those of the folder, else the defaults.
    likelihood : str or None
        The trace's likelihood if its code is in a file (see :class:`~pyclone_pgsm.trace.Trace`).

    Returns
    -------
    Result
        A :class:`~pyclone_pgsm.clustering.Clustering` if the data are not of a tumour.

    Raises
    ------
    TraceError
        There is no trace, or it is damaged.
    UsageError
        An option is invalid, or the thresholds are of a trace that is not of a tumour.
    """
    check_path("path", path, may_be_none=False)
    check_kind("likelihood", likelihood, str | None, "a text, path/to/file.py:Class")
    given = {} if thresholds is None else checked_thresholds(thresholds)._asdict()
    return open_with(Path(path), consensus, burn_in, given, likelihood)


@np.errstate(under="ignore")  # underflow is normal here, also if the caller lets numpy raise errors
def open_with(
    path: Path,
    consensus: str | None,
    burn_in: int | None,
    thresholds: Mapping[str, float],
    likelihood: str | None,
) -> Result:
    """Do what :func:`open_trace` does; thresholds that are not given, by name, are those of the folder."""
    check_choice("consensus", consensus, CRITERIA, may_be_none=True)
    stored: dict[str, Any] = {}
    if path.is_dir():
        if not (path / TRACE).is_file():
            raise TraceError(
                f"{path}: holds no {TRACE}: give an output folder of analyze, or a trace, with the `consensus` "
                "and `burn_in` that summarize was given"
            )
        stored = how_summarised(path / RUN)
        path = path / TRACE
    with Trace(path, likelihood) as trace:
        if thresholds and not isinstance(trace.data, TumourData):
            raise UsageError(f"thresholds are for tumours; {path} is of {trace.options.model.likelihood!r}")
        difference = difference_of_tables(stored, trace)
        if difference is not None:
            stored.pop("burn_in", None)
        burn_in = stored.get("burn_in") if burn_in is None else burn_in
        known = {**stored, **thresholds}
        chosen = Thresholds(**{name: known[name] for name in Thresholds._fields if name in known})
        kind = Result if isinstance(trace.data, TumourData) else Clustering
        result = kind(trace, summarize(trace, consensus or stored.get("consensus"), burn_in, chosen))
    if difference is not None:
        result.notes = [
            f"{difference}: here the trace is used; update the tables with pyclone-pgsm summarize"
        ]
    elif "command" in stored:
        result.command = stored["command"]
    return result


def difference_of_tables(stored: Mapping[str, Any], trace: Trace) -> str | None:
    """Return how tables, made as `stored` in the ``run.json`` beside a trace, differ from it; None if not."""
    tables, done = f"the tables in {trace.path.parent}", common_iterations(trace)
    if stored.get("iterations", done) != done:
        return f"{tables} are of {stored['iterations']:,} iterations, the trace now has {done:,}"
    if not _made_from(trace.command, stored.get("command", trace.command)):
        return f"{tables} are not of the {TRACE} there"
    return None


def _made_from(command: str, stored: str) -> bool:
    """Whether tables with these commands, one a line, are those of a trace, perhaps summarised by one more command."""
    own, lines = command.splitlines(), stored.splitlines()
    return lines[: len(own)] == own and len(lines) <= len(own) + 1
