"""Purity, ploidy and sex from the file that a copy-number caller writes beside its segments."""

import re
from dataclasses import dataclass
from pathlib import Path

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import read_columns
from pyclone_pgsm.inputs.genome import SEXES, Sex
from pyclone_pgsm.inputs.problems import FileProblems, raise_any
from pyclone_pgsm.inputs.segments.cells import plain, style
from pyclone_pgsm.inputs.table import Table
from pyclone_pgsm.inputs.text import open_text


@dataclass(frozen=True)
class Fit:
    """Estimates of a caller for one sample; None where not given."""

    purity: float | None = None
    ploidy: float | None = None
    sex: Sex | None = None


_BESIDE = (
    (r"\.purple\.cnv(\.somatic)?(\.tsv)?$", (".purple.purity.tsv", ".purple.purity")),  # PURPLE
    (r"_segments\.txt$", ("_confints_CP.txt",)),  # Sequenza
    (r"_(subclones|copynumber)\.txt$", ("_purity_ploidy.txt", "_cellularity_ploidy.txt")),  # Battenberg
    (r"([._])segs\.txt$", (r"\1params.txt",)),  # TitanCNA
    (r"\.titan(\.ichor)?(\.segs?(\.noSNPs)?)?\.txt$", (".params.txt",)),  # TitanCNA
    (r"\.copynumber\.caveman\.csv$", (".samplestatistics.txt", ".samplestatistics.csv")),  # ascatNgs
    (r"\.(segments|cnvs)\.txt$", (".purityploidy.txt",)),  # ASCAT, run by nf-core
)
"""How the names of files with segments end, and those of the files with the fit."""

_PURITY = frozenset({"purity", "cellularity", "aberrantcellfraction"})
_PLOIDY = frozenset({"ploidy", "ploidyestimate"})
_SEX = frozenset({"gender", "sex"})

_STATUS = frozenset({"status", "fitmethod"})
NO_TUMOUR = "NO_TUMOR"
"""What PURPLE says if it found no tumour in the sample: the purity beside it means nothing."""

_STYLE = style("the purity and ploidy of a sample", _PURITY | _PLOIDY | _SEX | _STATUS)
_COPIES = values.Real(0.0, values.LARGEST_COPY_NUMBER, "a ploidy: a number, 0 or more")
_SEX_BY_Y: dict[str, Sex] = {"Y": "male", "N": "female"}
"""Sex by whether ASCAT found a chromosome Y."""
_NORMAL = values.Real(0.0, 1.0, "a share of cells: 0 to 1")

_FIT_NAME = re.compile(r"purity|cellularity|confints|params|samplestatistics", re.IGNORECASE)
_RHO = re.compile(r"^rho[\s,]", re.MULTILINE)
_ASCAT = re.compile(r"^(rho|Ploidy|GenderChr|GenderChrFound)[\s,]+(\S+)\s*$", re.MULTILINE)
_TITAN = re.compile(r"^(Normal contamination|Average tumour ploidy) estimate:\s*(\S+)\s*$", re.MULTILINE)


def names_beside(name: str) -> list[str]:
    """Return the names that the file with the fit may have beside segments of this name."""
    bare = re.sub(r"\.gz$", "", name)
    return [
        re.sub(end, beside, bare) for end, besides in _BESIDE if re.search(end, bare) for beside in besides
    ]


def fit_beside(path: Path) -> Path | None:
    """Return the file with the fit that belongs to these segments, if it exists."""
    possible = map(path.with_name, names_beside(path.name))
    return next(filter(Path.is_file, possible), None)


def is_fit(path: Path) -> bool:
    """Whether a file contains a fit rather than segments, by its name and content."""
    if not _FIT_NAME.search(path.name):
        return False
    problems = FileProblems(str(path))
    try:
        text = open_text(path, problems, _STYLE.expected).read()
        names = {plain(name) for name in read_columns(path, _STYLE, problems).names}
    except InputError:
        return False
    return bool(_TITAN.search(text) or _RHO.search(text)) or (bool(names & _PURITY) and "start" not in names)


def read_fit(path: Path, problems: FileProblems) -> Fit:
    """Read one file; note invalid values, and tables of more than one sample."""
    text = open_text(path, problems, _STYLE.expected).read()
    raise_any(problems)
    line = None
    if _TITAN.search(text):
        texts = {name.removeprefix("Average tumour "): found for name, found in _TITAN.findall(text)}
    elif _RHO.search(text):
        texts = dict(_ASCAT.findall(text))
    else:
        texts, line = _row_of_table(read_columns(path, _STYLE, problems))

    def number(read: values.Real, names: frozenset[str]) -> float | None:
        name, found = _cell(texts, names)
        try:
            return None if values.is_no_value(found) else read(found)
        except ValueError as fault:
            problems.add(str(fault), line, name, found)
            return None

    purity = number(values.TUMOUR_CONTENT, _PURITY | {"rho"})
    if (normal := number(_NORMAL, frozenset({"normalcontamination"}))) is not None and normal < 1:
        purity = 1 - normal
    if _cell(texts, _STATUS)[1] == NO_TUMOUR:
        purity = None
    sex = SEXES.get(_cell(texts, _SEX)[1].lower())
    if texts.get("GenderChr") == "Y":
        sex = _SEX_BY_Y.get(texts.get("GenderChrFound", ""))
    return Fit(purity, number(_COPIES, _PLOIDY), sex)


def _row_of_table(table: Table) -> tuple[dict[str, str], int | None]:
    """Return the texts of the row with the estimates, by name of their column, and its line; none after problems."""
    names = {plain(name) for name in table.names}
    is_sequenza = "ploidyestimate" in names  # lower bound, estimate, upper bound
    if not names & _PURITY:
        table.note_header("a column purity or cellularity is expected")
    elif len(table) != (3 if is_sequenza else 1):
        table.problems.add(f"{'three rows are' if is_sequenza else 'one row is'} expected below the header")
    if table.problems:
        return {}, None
    row = 1 if is_sequenza else 0
    return {name: column.text_of(row) for name, column in table.columns.items()}, int(table.lines[row])


def _cell(texts: dict[str, str], names: frozenset[str]) -> tuple[str, str]:
    """Return name and text of the first cell with one of these plain names."""
    return next(((name, text) for name, text in texts.items() if plain(name) in names), ("", ""))
