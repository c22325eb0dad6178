"""Reader of tables of read counts and copy numbers: returns `Observations`, and what was left out and why.

Each file is first read alone (`pyclone_pgsm.inputs.read_counts.rows`), then all are combined
(`pyclone_pgsm.inputs.read_counts.joining`).
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.columns import columns_of_frame, read_columns
from pyclone_pgsm.inputs.observations import GENOTYPE_PRIORS, LeftOut, Observations, count_left_out
from pyclone_pgsm.inputs.problems import FileProblems, count, listed
from pyclone_pgsm.inputs.read_counts.joining import lay_out
from pyclone_pgsm.inputs.read_counts.rows import STYLE, rows_of
from pyclone_pgsm.inputs.text import read_each
from pyclone_pgsm.inputs.tumour_content import ContentOption, by_name, checked_means, uncertain
from pyclone_pgsm.inputs.values import ERROR_RATE, checked
from pyclone_pgsm.ranges import check_choice, check_kind, check_path

Table = Path | str | pd.DataFrame
Tables = Table | Sequence[Table] | Mapping[str, pd.DataFrame]
"""One or several tables of read counts (files or data frames), or a mapping from samples to data frames."""
Source = tuple[str, Path | pd.DataFrame]
"""A table of read counts, preceded by its name in messages."""


def read_tables(
    tables: Tables,
    *,
    tumour_content: ContentOption = None,
    error_rate: float | None = None,
    genotype_prior: str = "major",
) -> tuple[Observations, list[LeftOut]]:
    """Read one tumour from one or many tables.

    The layouts are those of `pyclone_pgsm.inputs.read_counts.layout`, and may be mixed: a table with a column
    ``sample_id`` holds any number of samples, one without it holds a single sample, named after its file. Separator,
    compression and line ends are detected.

    A mutation has no data in a sample if it has no row there, no reads, or ``major_cn`` 0 and no second copy-number
    state with copies (a mutation cannot be modelled where the tumour has no copy of the locus). Only the last of these
    is listed in the second result. A mutation without data in any sample is left out. The genotype priors ``ab``,
    ``bb`` and ``no-zygosity`` do not use the tumour's copy numbers, so for them ``major_cn`` 0 has no special meaning,
    and ``major_cn``, ``minor_cn`` and ``normal_cn`` may be missing (two normal copies).

    Parameters
    ----------
    tables : str, Path or DataFrame, sequence of these, or mapping of sample to DataFrame
        The files, or data frames with the columns of such files.
    tumour_content : float, Uncertain, or mapping of sample to one of these, optional
        Share of cancer cells, in (0, 1]. Of a distribution only the mean is used here (the model does the rest, see
        `pyclone_pgsm.inputs.tumour_content`). Overrides a column ``tumour_content``, whose values are then ignored.
        Samples that a mapping does not name, and all samples without this option, use the column, or 1.0 if there is
        none.
    error_rate : float, optional
        Probability of a wrong base in a read, in (0, 0.5); overrides a column ``error_rate``. If neither is given, it
        is NaN and will be inferred.
    genotype_prior : str
        Name of the genotype prior that will be used. With those that do not look at alleles (``total`` and the naive
        ones), a column ``total_cn`` is accepted in place of ``major_cn`` and ``minor_cn``; the total is then returned
        as ``major_cn``, with ``minor_cn`` 0.

    Returns
    -------
    observations : Observations
        T mutations in D samples.
    left_out : list of LeftOut
        What was left out or changed, in the order of files and rows; then mutations left out; then samples in which no
        mutation has data (they are kept, but have no information).

    Raises
    ------
    InputError
        Lists everything wrong in all files.
    UsageError
        If no file is given, an option is out of range or unknown, or ``tumour_content`` names an unknown sample.
    """
    return read_sources(sources_of(tables), by_name(tumour_content), error_rate, genotype_prior)


def sources_of(tables: Any) -> list[Source]:
    """Return all tables of read counts with their names in messages; UsageError if these are anything else."""
    expected = (
        "a data frame, the path of a table, several of these, or a dict of samples and their data frames"
    )
    given: dict[str, Any]
    if isinstance(tables, Mapping):
        given = {
            f"the data frame of {sample!r}": _with_sample(sample, table) for sample, table in tables.items()
        }
    elif isinstance(tables, Table):
        given = {"the data frame": tables}
    else:
        check_kind("tables", tables, Collection, expected)
        given = {f"data frame {place}": table for place, table in enumerate(tables)}
    sources: list[Source] = []
    for name, table in given.items():
        check_kind("tables", table, Table, expected)
        if not isinstance(table, pd.DataFrame):
            check_path("tables", table)
            sources.append((str(table), Path(table)))
        elif "sample_id" in table.columns:
            sources.append((f"{name} (rows counted from 0)", table))
        else:
            raise UsageError(
                f"{name} has no column sample_id: add one, or give each sample's data frame by its name, as in "
                "{'S1': first, 'S2': second}"
            )
    return sources


def _with_sample(sample: str, table: object) -> pd.DataFrame:
    """Return the data frame of one sample with the sample's name as a column."""
    if not isinstance(table, pd.DataFrame):
        raise UsageError(f"the table of {sample!r} must be a data frame, not {type(table).__name__}")
    for other in pd.unique(table.loc[:, table.columns == "sample_id"].to_numpy(object).ravel()):
        if str(other) != str(sample):
            raise UsageError(
                f"the data frame of {sample!r} has rows of sample_id {other!r}: give the data frame of each sample by "
                "its name, or a data frame of several samples without a name"
            )
    is_missing = pd.api.types.is_scalar(sample) and pd.isna(sample)  # of groupby(.., dropna=False)
    return table.assign(sample_id="" if is_missing else str(sample))


def read_sources(
    sources: Sequence[Source], tumour_content: ContentOption, error_rate: float | None, genotype_prior: str
) -> tuple[Observations, list[LeftOut]]:
    """Read one tumour from files and data frames, each with its name in messages; see `read_tables`."""
    if not sources:
        raise UsageError("no input table given")
    check_choice("genotype_prior", genotype_prior, GENOTYPE_PRIORS)
    options = checked_means(tumour_content), checked("error_rate", error_rate, ERROR_RATE), genotype_prior
    found = [FileProblems(name) for name, _ in sources]
    file_of: dict[str, str] = {}  # by the sample that is named after it

    def read(place: int) -> pd.DataFrame:
        source, problems = sources[place][1], found[place]
        if isinstance(source, Path):
            table = read_columns(source, STYLE, problems)
        else:
            table = columns_of_frame(source, STYLE, problems)
            if not len(source):
                problems.add("the data frame has no rows")
        rows = rows_of(table, *options)
        if rows["named_after_file"].any():
            sample = str(rows["sample_id"].iat[0])
            if file_of.setdefault(sample, problems.file) != problems.file:
                raise problems.give_up(
                    f"the sample is named after the file, {sample!r}, and so is that of {file_of[sample]!r}; rename "
                    "one of the two files, or add a column sample_id"
                )
        return rows

    files = list(read_each(found, read).values())
    observations, left_out = lay_out(files, found, genotype_prior)
    samples = observations.sample_ids
    if isinstance(tumour_content, Mapping) and not set(tumour_content) <= set(samples):
        unknown = ", ".join(repr(sample) for sample in tumour_content if sample not in samples)
        raise UsageError(f"`tumour_content` is given for {unknown}, but the samples are {listed(samples)}")
    return observations, left_out


def count_summary(
    observations: Observations, left_out: Sequence[LeftOut], tumour_content: ContentOption = None
) -> list[str]:
    """Summarise what was read in a few lines of text: the totals, then each sample.

    ``left_out`` is the second result of `read_tables`, ``tumour_content`` what it was given.
    """
    inferred = uncertain(tumour_content, observations.sample_ids)
    has_data = observations.has_data
    lines = [
        f"{count(observations.num_samples, 'sample')}, "
        f"{count(observations.num_mutations, 'mutation')}, "
        f"{has_data.sum():,} of {has_data.size:,} mutation-sample pairs with data, "
        f"{count_left_out(left_out)}"
    ]
    for place, sample in enumerate(observations.sample_ids):
        used = has_data[:, place]
        line = f"{sample}: {count(int(used.sum()), 'mutation')} with data"
        if used.any():
            depth = np.median(observations.depth[used, place])
            content = observations.tumour_content[used, place]
            span = f"{content.min():g}" + (f" to {content.max():g}" if content.min() < content.max() else "")
            span += f"±{inferred[sample].sd:g}" if sample in inferred else ""
            line += f", median depth {depth:g}, tumour content {span}"
        if subclonal := int((used & (observations.subclonal_fraction[:, place] > 0)).sum()):
            line += f", {subclonal} with subclonal copy number"
        lines.append(line)
    return lines
