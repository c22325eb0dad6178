"""Reader of one input file: its rows as typed columns, with each value checked."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import Style
from pyclone_pgsm.inputs.observations import SUBCLONAL
from pyclone_pgsm.inputs.problems import CONTROL
from pyclone_pgsm.inputs.read_counts.layout import (
    ANNOTATIONS,
    is_read,
    note_header_problems,
    uses_total_only,
)
from pyclone_pgsm.inputs.table import Column, Table, columns_by_part

DEFAULT_TUMOUR_CONTENT = 1.0
DEFAULT_ERROR_RATE = float("nan")  # not specified: the model infers it

_WHOLE = {
    "ref_counts": values.READS,
    "alt_counts": values.READS,
    "var_counts": values.READS,
    "major_cn": values.COPIES,
    "minor_cn": values.COPIES,
    "total_cn": values.COPIES,
    "normal_cn": values.NORMAL_COPIES,
}
_SECOND: dict[str, Callable[[str], float]] = {
    "subclonal_major_cn": values.COPIES,
    "subclonal_minor_cn": values.COPIES,
    "subclonal_fraction": values.SUBCLONAL_FRACTION,
}
_FAULTY = -1
STYLE = Style("a table of read counts as text", is_read)


@dataclass(frozen=True)
class Rows:
    """The rows of one file: R mutations in samples. A missing id is an empty text."""

    file: str
    """Path as the user gave it, or name of a data frame."""
    lines: NDArray[np.int64]
    mutations: Column
    samples: Column
    numbers: dict[str, NDArray]
    """(R,) ``ref_counts alt_counts major_cn minor_cn normal_cn subclonal_major_cn subclonal_minor_cn`` as int64,
    ``tumour_content error_rate subclonal_fraction`` as float64. Values that could not be read are -1; those of a second
    copy-number state are 0 where there is one state."""
    copies_column: str
    """The column from which ``major_cn`` was read."""
    named_after_file: bool
    """Whether the file holds one sample that is named after it."""
    content_unknown: list[str]
    """Samples whose tumour content is given neither by a column nor by an option."""
    annotations: dict[str, Column] = field(default_factory=dict)
    """Columns to keep, under their normalised names."""


def sample_name(path: Path) -> str:
    """Return the name of a file without folder, ``.gz`` and ``.tsv``, ``.csv`` or ``.txt``."""
    without_gz = re.sub(r"(?<=.)\.gz$", "", path.name, flags=re.IGNORECASE)
    return re.sub(r"(?<=.)\.(tsv|csv|txt)$", "", without_gz, flags=re.IGNORECASE)


def rows_of(
    table: Table,
    tumour_content: float | Mapping[str, float] | None,
    error_rate: float | None,
    genotype_prior: str,
) -> Rows:
    """Check one table in one of the layouts of `pyclone_pgsm.inputs.read_counts.layout`.

    The options are those of `pyclone_pgsm.read_tables`, with each distribution replaced by its mean.
    """
    given = {"tumour_content": tumour_content, "error_rate": error_rate}
    overridden = [name for name, value in given.items() if isinstance(value, float)]
    note_header_problems(table, genotype_prior, overridden)
    named_after_file = "sample_id" not in table
    mutations = _ids(table, "mutation_id")
    samples = _one_sample(table) if named_after_file else _ids(table, "sample_id")
    numbers: dict[str, NDArray] = {
        name: table.read(name, read, np.int64, _FAULTY) for name, read in _WHOLE.items() if name in table
    }
    _merge_variant_counts(numbers, table)
    total_only = uses_total_only(table.names, genotype_prior)
    if total_only:
        numbers["major_cn"] = numbers["total_cn"]
        numbers["minor_cn"] = np.zeros_like(numbers["total_cn"])
    else:
        _note_minor_above_major(numbers, "minor_cn", "major_cn", table)
    numbers |= _second_states(table)
    if genotype_prior == "total":
        _note_other_total(numbers, table)
    content = _of_each_sample(tumour_content, samples)
    rate = _of_each_sample(error_rate, samples)
    numbers["tumour_content"] = _share(
        table, "tumour_content", values.TUMOUR_CONTENT, content, DEFAULT_TUMOUR_CONTENT
    )
    numbers["error_rate"] = _share(table, "error_rate", values.ERROR_RATE, rate, DEFAULT_ERROR_RATE)
    return Rows(
        file=table.problems.file,
        lines=table.lines,
        mutations=mutations,
        samples=samples,
        numbers=numbers,
        copies_column="total_cn" if total_only else "major_cn",
        named_after_file=named_after_file,
        content_unknown=[]
        if "tumour_content" in table
        else list(dict.fromkeys(samples.texts[code] for code in np.unique(samples.codes[np.isnan(content)]))),
        annotations={
            kept_as: table.columns[name].edited(one_line)
            for kept_as, name in columns_by_part(table.columns, ANNOTATIONS).items()
        },
    )


def _ids(table: Table, name: str) -> Column:
    if name not in table:
        return Column.of_one(name, "", len(table))
    table.read(name, values.Name(name), object)
    return table.columns[name]


def _one_sample(table: Table) -> Column:
    name = sample_name(Path(table.problems.file))
    if CONTROL.search(name) or not name.isprintable():
        table.problems.add(
            f"the sample is named after the file, and {name!r} cannot be a name; rename the file"
        )
    return Column.of_one("sample_id", name, len(table))


def _share(
    table: Table, name: str, reader: values.Share, given: NDArray[np.float64], default: float
) -> NDArray[np.float64]:
    """Return the given values; where they are NaN, those of the column, or the default if there is no such column."""
    is_open = np.isnan(given)
    if name not in table:
        return np.where(is_open, default, given)
    return np.where(is_open, table.read(name, reader, np.float64, _FAULTY, matters=is_open), given)


def _of_each_sample(option: float | Mapping[str, float] | None, samples: Column) -> NDArray[np.float64]:
    """Return (R,) the option's value for the sample of each row, NaN where it has none."""
    if isinstance(option, Mapping):
        return samples.map(lambda sample: option.get(sample, np.nan), np.float64)
    return np.full(len(samples.codes), np.nan if option is None else option)


def _merge_variant_counts(numbers: dict[str, NDArray], table: Table) -> None:
    """Rename ``var_counts`` to ``alt_counts``; if a table has both, they must agree."""
    if "var_counts" not in numbers:
        return
    variant = numbers.pop("var_counts")
    alt = numbers.setdefault("alt_counts", variant)

    def message(row: int) -> str:
        text = table.columns["alt_counts"].text_of(row)
        return f"alt_counts is {text}; the two mean the same, so keep one"

    table.note((alt != variant) & (alt != _FAULTY) & (variant != _FAULTY), "var_counts", message)


def _note_minor_above_major(numbers: dict[str, NDArray], minor: str, major: str, table: Table) -> None:
    def message(row: int) -> str:
        return f"larger than {major}, which is {table.columns[major].text_of(row)}; expected at most that"

    if {major, minor} <= numbers.keys():
        table.note((numbers[minor] > numbers[major]) & (numbers[major] != _FAULTY), minor, message)


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
        found = table.read(name, _SECOND[name], kind, _FAULTY, may_miss=True)
        numbers[name] = np.where(has_second, found, 0)
        table.note(is_empty[name] & has_second, name, message)
    _note_minor_above_major(numbers, "subclonal_minor_cn", "subclonal_major_cn", table)
    return numbers


def one_line(text: str) -> str:
    """Replace control characters and white space in an annotation by single spaces."""
    return " ".join(CONTROL.sub(" ", text).split())
