"""Clustering of a tumour's mutations from Python: one function, :func:`analyze`."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd

from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.analyses.reading import Tables, read_counts
from pyclone_pgsm.analyses.results import check_criterion, check_folder
from pyclone_pgsm.analyses.run import Progress, plan_tumour
from pyclone_pgsm.analyses.tumour import ModelOptions, TumourAnalysis
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.priors import DirichletProcess, Prior
from pyclone_pgsm.results import Result, run_plan
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour.options import TUMOUR


def analyze(
    tables: Tables,
    model: ModelOptions | None = None,
    prior: Prior | None = None,
    settings: Settings | None = None,
    *,
    error_rate: float | None = None,
    criterion: str = "vi",
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    threads: int | None = None,
    out: Path | str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Cluster the mutations of a tumour: what the command ``analyze`` does with tables of read counts.

    Parameters
    ----------
    tables : path or DataFrame, sequence of these, or mapping of sample to DataFrame
        Read counts and copy numbers, in the layouts that the command takes (see
        :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables`). A data frame has a column ``sample_id``, or is
        given by the name of its sample: ``{"S1": first, "S2": second}``.
    model : ModelOptions or None
        The tumour model: genotype prior, density, precision, tumour content, and so on; None: the defaults.
    prior : Prior or None
        Over partitions; None: :class:`~pyclone_pgsm.priors.DirichletProcess` with its concentration inferred.
    settings : Settings or None
        Moves, lengths, chains and seed; None: the defaults.
    error_rate : float or None
        Probability of a wrong base in a read, in (0, 0.5), in place of the tables'; None: theirs, inferred where
        there is none.
    criterion : {"mpear", "vi", "binder", "map"}
        Of the consensus partition, see :func:`pyclone_pgsm.posterior.consensus.consensus`.
    thresholds : Thresholds
        Where presence and clonality begin.
    threads : int or None
        Chains that run at the same time; None: one a processor. No influence on the result.
    out : Path, str or None
        Folder for all that the command writes: tables, pictures, report and trace. None: nothing is kept but the
        trace, in a temporary folder that goes with the result.
    force : bool
        Replace results that are in `out`.
    progress : callable or None
        Called now and then with a chain, the iterations that it has done and is to do, and its number of clusters.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Everything that is wrong in the tables.
    UsageError
        Options that cannot be.
    OutputError
        There are results in `out`, or it cannot be written.
    KeyboardInterrupt
        By Ctrl-C; what was done is in the trace in `out`, if that is given.

    Examples
    --------
    Fourteen mutations in one sample, eight of them in all cancer cells:

    >>> import pandas as pd
    >>> from pyclone_pgsm import ModelOptions, Settings, analyze
    >>> alt_counts = [500, 510, 490, 505, 495, 515, 485, 500, 100, 105, 95, 110, 90, 100]
    >>> table = pd.DataFrame({"mutation_id": list("abcdefghijklmn"), "sample_id": "S1", "alt_counts": alt_counts})
    >>> table["ref_counts"] = 1000 - table["alt_counts"]
    >>> table[["major_cn", "minor_cn", "normal_cn", "tumour_content"]] = [1, 1, 2, 1.0]
    >>> result = analyze(table, ModelOptions(density="binomial"), settings=Settings(iterations=60, chains=2))
    >>> result.clusters[["size", "cellular_prevalence"]].round(1).values.tolist()
    [[8.0, 1.0], [6.0, 0.2]]
    """
    started = time.perf_counter()
    check_criterion(criterion)
    thresholds.check()
    model, settings = model or ModelOptions(), settings or Settings()
    compile_ahead(TUMOUR, settings, threads)
    reading = read_counts(
        tables,
        tumour_content=model.tumour_content,
        error_rate=error_rate,
        genotype_prior=model.genotype_prior,
    )
    if out is not None:
        check_folder(Path(out), force, TumourAnalysis.files, _files(tables))
    plan = plan_tumour(
        reading.observations, reading.left_out, model, settings, prior or DirichletProcess(), threads
    )
    source = run_plan(
        plan,
        started,
        criterion=criterion,
        thresholds=thresholds,
        out=out,
        threads=threads,
        command="pyclone_pgsm.analyze",
        progress=progress,
    )
    result = Result(source)
    result.warnings = list(dict.fromkeys([*reading.warnings, *result.warnings]))
    return result


def _files(tables: Tables) -> list[Path]:
    """The files among the tables."""
    each = [tables] if isinstance(tables, Path | str | pd.DataFrame) else list(tables)
    if isinstance(tables, dict):
        return []
    return [Path(table) for table in each if not isinstance(table, pd.DataFrame)]
