"""Draws of a trace for ArviZ: :func:`to_arviz`. This needs the extra ``arviz``."""

from pathlib import Path
from typing import Any

import numpy as np

from pyclone_pgsm.posterior.rows import kept_rows, quantities, series_of
from pyclone_pgsm.ranges import check_path
from pyclone_pgsm.sampling.convergence import SUMMARIES, summaries_of
from pyclone_pgsm.trace import Trace


def to_arviz(trace: Path | str, burn_in: int | None = None) -> Any:
    """Return those draws of the chains that do not depend on how clusters are numbered, as an ArviZ object.

    Parameters
    ----------
    trace : Path or str
        A trace, or an output folder. That of a result from Python is ``result.path``.
    burn_in : int or None
        Iterations to leave out; None: the burn-in of the run.

    Returns
    -------
    xarray.DataTree
        Group ``posterior``, with dimensions chain and draw: num_clusters, entropy and largest_share of the cluster
        sizes, concentration (and discount) of the partition prior, hyperparameters of the likelihood. Group
        ``sample_stats``: lp, the log joint density. All chains have equally many draws, their last ones. ArviZ before
        version 1 (as with Python 3.11) gives an ``arviz.InferenceData`` with the same groups.

    Raises
    ------
    ImportError
        ArviZ is not installed.
    TraceError
        The trace cannot be read, or no chain has an iteration after the burn-in.
    """
    try:
        import arviz
    except ImportError as problem:
        raise ImportError("to_arviz needs ArviZ: pip install 'pyclone-pgsm[arviz]'") from problem

    check_path("trace", trace, may_be_none=False)
    path = Path(trace)
    with Trace(path / "trace.h5" if path.is_dir() else path) as opened:
        kept = kept_rows(opened, burn_in)
        length = min(len(rows) for rows in kept if len(rows))
        chains = [(k, rows[-length:]) for k, rows in enumerate(kept) if len(rows)]

        def table(name: str) -> np.ndarray:
            return np.array([series_of(opened.chains[k], name)[rows] for k, rows in chains])

        posterior = {name: table(name) for name in quantities(opened) if name != "log_joint"}
        of_labels = np.array([[summaries_of(row) for row in opened.labels(k, rows)] for k, rows in chains])
        posterior |= {name: of_labels[:, :, j] for j, name in enumerate(SUMMARIES)}
        groups: dict[str, Any] = {"posterior": posterior, "sample_stats": {"lp": table("log_joint")}}
        is_old = int(arviz.__version__.partition(".")[0]) < 1
        return arviz.from_dict(**groups) if is_old else arviz.from_dict(groups)
