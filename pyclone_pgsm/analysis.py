"""Clustering of a tumour's mutations from Python: :func:`analyze`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.analyses.prepare import PrepareOptions, prepare
from pyclone_pgsm.analyses.reading import Files, Reading, by_sample, check_tables, read_counts, read_joined
from pyclone_pgsm.analyses.results import check_folder
from pyclone_pgsm.analyses.run import Progress, plan_tumour
from pyclone_pgsm.analyses.tumour import TumourAnalysis
from pyclone_pgsm.inputs.genome import Build, Sex
from pyclone_pgsm.inputs.read_counts.tables import Tables, sources_of
from pyclone_pgsm.inputs.sample_sheet import patient_of_files
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds, checked_thresholds
from pyclone_pgsm.posterior.summarize import check_criterion
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.ranges import check_kind, check_path
from pyclone_pgsm.results import Result, checked_plan, run_plan
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour.options import TUMOUR, ModelOptions


class SegmentWords(TypedDict, total=False):
    """Options for reading mutations and segments; see :func:`analyze`."""

    tumour_sample: str | Sequence[str] | None
    all_filters: bool
    cn_format: str | None
    sex: Sex | None
    genome_build: Build | None
    fill_gaps: str | None


@np.errstate(under="ignore")  # underflow is normal here, also if the caller lets numpy raise errors
def analyze(
    tables: Tables | Files,
    model: ModelOptions | None = None,
    prior: Prior | None = None,
    settings: Settings | None = None,
    *,
    segments: Files | None = None,
    error_rate: float | None = None,
    criterion: str = "vi",
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    threads: int | None = None,
    out: Path | str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **read_with: Unpack[SegmentWords],
) -> Result:
    """Cluster the mutations of a tumour, as the command ``analyze`` does.

    Parameters
    ----------
    tables : path or DataFrame, sequence of these, or mapping of sample to DataFrame
        Read counts and copy numbers in the layouts that the command reads (see
        :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables`). Data frames need a column ``sample_id``, or sample
        names as keys: ``{"S1": first, "S2": second}``. With `segments`: files of mutations (VCF, MAF or table), with
        sample names as keys if a file does not name its sample: ``{"S1": "first.vcf"}``.
    model : ModelOptions or None
        The tumour model: genotype prior, density, precision, tumour content, and so on; None: the defaults.
    prior : Prior or None
        Prior over partitions; None: :class:`~pyclone_pgsm.priors.DirichletProcess` with its concentration inferred.
    settings : Settings or None
        Moves, lengths, chains and seed; None: the defaults.
    segments : path, sequence of paths, mapping of sample to one of these, or None
        Copy-number segments: output files of a caller, one for each sample or one with a column of samples.
    error_rate : float or None
        Probability of a wrong base in a read, in (0, 0.5); overrides the tables. None: as in the tables, inferred where
        they have none.
    criterion : {"mpear", "vi", "binder", "map"}
        Criterion of the consensus partition, see :func:`pyclone_pgsm.posterior.consensus.consensus`.
    thresholds : Thresholds
        Prevalences above which a mutation is present, and clonal.
    threads : int or None
        Chains that run at the same time; None: one for each processor. This does not affect the result.
    out : Path, str or None
        Folder for everything that the command writes: tables, pictures, report and trace. None: only the trace is
        written, to a temporary folder that is removed with the result.
    force : bool
        Replace results in `out`.
    progress : callable or None
        Called regularly with a chain, the iterations it has done, those it is to do, and its number of clusters.
    **read_with
        How mutations with `segments` are read; names and values are those of the command's options:
        ``tumour_sample`` (one name or several), ``all_filters``, ``cn_format``, ``sex``, ``genome_build``,
        ``fill_gaps``.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Files or tables are invalid; the message lists all problems.
    UsageError
        Options are invalid.
    OutputError
        `out` contains results, or cannot be written.
    KeyboardInterrupt
        The user pressed Ctrl-C. The iterations done are in the trace in `out`, if given.

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
    check_criterion(criterion)
    thresholds = checked_thresholds(thresholds)
    settings, prior = checked_plan(settings, prior)
    model = ModelOptions() if model is None else model
    check_kind(
        "model", model, ModelOptions, "of the class ModelOptions, as in ModelOptions(density='binomial')"
    )
    check_path("out", out)
    compile_ahead(TUMOUR, settings, threads)
    reading, files = _read(tables, segments, model, error_rate, read_with)
    if out is not None:
        check_folder(Path(out), force, TumourAnalysis.files, [*files, *settings.files])
    plan = plan_tumour(reading, model, settings, prior, threads)
    return run_plan(
        Result,
        plan,
        criterion=criterion,
        thresholds=thresholds,
        out=out,
        command="pyclone_pgsm.analyze",
        progress=progress,
    )


def _read(
    tables: Tables | Files,
    segments: Files | None,
    model: ModelOptions,
    error_rate: float | None,
    read_with: SegmentWords,
) -> tuple[Reading, list[Path]]:
    """Read a tumour; return also the files that were given."""
    for name in read_with:
        if name not in SegmentWords.__annotations__:
            raise TypeError(f"analyze() got an unexpected keyword argument {name!r}")
    content, genotype_prior = model.tumour_content, model.genotype_prior
    options = PrepareOptions(**read_with, tumour_content=content, genotype_prior=genotype_prior)
    if segments is None:
        sources = sources_of(tables)
        files = [table for _, table in sources if isinstance(table, Path)]
        check_tables(files, read_with)
        return read_counts(sources, content, error_rate, genotype_prior), files
    mutations = by_sample("mutations", tables)  # type: ignore[arg-type]  # the same
    patient = patient_of_files(mutations, by_sample("segments", segments))
    return read_joined(prepare(patient, options), error_rate), patient.files
