"""Reader of one input file: its rows as typed columns, with each value checked."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import Style
from pyclone_pgsm.inputs.observations import COLUMNS, PRIORS_WITHOUT_COPY_NUMBERS, SUBCLONAL
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems
from pyclone_pgsm.inputs.read_counts import layout
from pyclone_pgsm.inputs.table import Table, columns_by_part
from pyclone_pgsm.inputs.text import file_stem

_WHOLE = {name: COLUMNS[name][0] for name in layout.REQUIRED[1:]}
_WHOLE |= {"var_counts": values.READS, "total_cn": values.COPIES}
_FAULTY = -1
STYLE = Style("a table of read counts as text", layout.is_read)


def rows_of(
    table: Table,
    tumour_content: float | Mapping[str, float] | None,
    error_rate: float | None,
    genotype_prior: str,
) -> pd.DataFrame:
    """Check one table in one of the layouts of `pyclone_pgsm.inputs.read_counts.layout`, and return its rows.

    The options are those of `pyclone_pgsm.read_tables`, with each distribution replaced by its mean.

    The columns are ``file row mutation_id sample_id`` (a missing id is an empty text), ``ref_counts alt_counts major_cn
    minor_cn normal_cn`` and the three of a second copy-number state (0 where there is one state), ``tumour_content
    error_rate`` (NaN if neither a column nor an option gives it), the `ANNOTATIONS` that the table has,
    ``copies_column`` (the one from which ``major_cn`` was read) and ``named_after_file`` (whether the table holds one
    sample, which is named after the file). Columns and values that could not be read are noted as problems.
    """
    given = {"tumour_content": tumour_content, "error_rate": error_rate}
    overridden = [name for name, value in given.items() if isinstance(value, float)]
    layout.note_header_problems(table, genotype_prior, overridden)
    total_only = layout.uses_total_only(table.names, genotype_prior)
    named_after_file = "sample_id" not in table
    texts = pd.DataFrame(
        {
            "file": table.problems.file,
            "copies_column": "total_cn" if total_only else "major_cn",
            "mutation_id": table.read("mutation_id", values.Name("mutation_id"), object),
            "sample_id": _own_name(table.problems)
            if named_after_file
            else table.read("sample_id", values.Name("sample_id"), object),
        }
        | {
            kept_as: table.columns[name].map(values.gene if kept_as == "gene" else values.one_line, object)
            for kept_as, name in columns_by_part(table.columns, layout.ANNOTATIONS).items()
        },
        dtype=object,
    )
    numbers: dict[str, NDArray] = {
        name: table.read(name, read, np.int64, _FAULTY) for name, read in _WHOLE.items() if name in table
    }
    _merge_variant_counts(numbers, table)
    if genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS:
        for name, copies in layout.DIPLOID.items():
            numbers.setdefault(name, np.full(len(table), copies))
    if total_only:
        numbers["major_cn"] = numbers["total_cn"]
        numbers["minor_cn"] = np.zeros_like(numbers["total_cn"])
    else:
        _note_minor_above_major(numbers, "minor_cn", "major_cn", table)
    numbers |= _second_states(table)
    if genotype_prior == "total":
        _note_other_total(numbers, table)
    for name, option in given.items():
        numbers[name] = _share(table, name, option, texts["sample_id"])
    return texts.assign(row=table.lines, named_after_file=named_after_file, **numbers)


def _own_name(problems: FileProblems) -> str:
    """Return the name of the sample of a file that holds only one."""
    name = file_stem(Path(problems.file))
    if CONTROL.search(name) or not name.isprintable():
        problems.add(f"the sample is named after the file, and {name!r} cannot be a name; rename the file")
    return name


def _share(
    table: Table, name: str, option: float | Mapping[str, float] | None, sample_ids: pd.Series
) -> NDArray[np.float64]:
    """Return the option's value for the sample of each row; where it has none, that of the column, or else NaN."""
    if isinstance(option, Mapping):
        given = sample_ids.map(option.get).to_numpy(np.float64)
    else:
        given = np.full(len(table), np.nan if option is None else option)
    is_open = np.isnan(given)
    return np.where(is_open, table.read(name, COLUMNS[name][0], np.float64, np.nan, matters=is_open), given)


def _merge_variant_counts(numbers: dict[str, NDArray], table: Table) -> None:
    """Rename ``var_counts`` to ``alt_counts``; if a table has both, they must agree."""
    if "var_counts" not in numbers:
        return
    variant = numbers.pop("var_counts")
    alt = numbers.setdefault("alt_counts", variant)
    table.note_unequal((alt != variant) & (alt != _FAULTY) & (variant != _FAULTY), "var_counts", "alt_counts")


def _note_minor_above_major(numbers: dict[str, NDArray], minor: str, major: str, table: Table) -> None:
    if major in table and minor in table:
        table.note_larger((numbers[minor] > numbers[major]) & (numbers[major] != _FAULTY), minor, major)


def _note_other_total(numbers: dict[str, NDArray], table: Table) -> None:
    """Note a total that is not the sum of the alleles' copies, in rows with one state: it would be ignored."""
    if not {"total_cn", "major_cn", "minor_cn"} <= table.columns.keys():
        return
    total, major, minor = (numbers[name] for name in ("total_cn", "major_cn", "minor_cn"))
    is_known = (
        (np.minimum(major, minor) != _FAULTY) & (total != _FAULTY) & (numbers["subclonal_major_cn"] == 0)
    )
    table.note(
        is_known & (total != major + minor),
        "total_cn",
        lambda row: (
            f"major_cn and minor_cn are {major[row]} and {minor[row]}; expected their sum, {major[row] + minor[row]}"
        ),
    )


def _second_states(table: Table) -> dict[str, NDArray]:
    """Return the columns of a second copy-number state, 0 where they are empty or missing."""
    if not all(name in table for name in SUBCLONAL):
        return {name: np.zeros(len(table), kind) for name, kind in SUBCLONAL.items()}
    is_empty = {name: table.is_empty(name) for name in SUBCLONAL}
    has_second = ~np.logical_and.reduce(list(is_empty.values()))

    def message(row: int) -> str:
        given = next(name for name in SUBCLONAL if not is_empty[name][row])
        return (
            f"no value, but {given} is {table.columns[given].text_of(row)}; expected all of "
            f"{', '.join(SUBCLONAL)}, or none where there is one state"
        )

    numbers = {}
    for name, kind in SUBCLONAL.items():
        found = table.read(name, COLUMNS[name][0], kind, _FAULTY, may_miss=True)
        numbers[name] = np.where(has_second, found, 0)
        table.note(is_empty[name] & has_second, name, message)
    _note_minor_above_major(numbers, "subclonal_minor_cn", "subclonal_major_cn", table)
    return numbers
