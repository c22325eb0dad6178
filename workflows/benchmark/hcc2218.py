"""One cell line, four copy-number callers: what their joined tables say, and what is true.

    python hcc2218.py FOLDER -o PAGE.md

FOLDER holds the segments of HCC2218 from FACETS, TitanCNA, PURPLE and CNVkit and the true total copy numbers, as the R
package pebbles has them (github.com/umccr/pebbles, inst/extdata): see `FILES` and `TRUTH`. A mutation is put every
10,000 bases of chromosomes 1 to 22 and X; each caller's segments are joined with these, and the tables compared.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.inputs.genome import AUTOSOMES, LENGTHS
from pyclone_pgsm.inputs.mutations.model import Variants
from pyclone_pgsm.inputs.segments.joining import join
from pyclone_pgsm.inputs.segments.reading import read_segments

FILES = {
    "FACETS": "facets/HCC2218_facets_cncf.tsv",
    "TitanCNA": "titan/HCC2218_titan.segs.tsv",
    "PURPLE": "purple/HCC2218_purple_v2.cnv.tsv",
    "CNVkit": "cnvkit/HCC2218_cnvkit-call.cns",
}
TRUTH = "HCC2218_truthset_cnv_bcbio.tsv"
PURITY = {"FACETS": 0.958}
"""Tumour content where a caller's shares are of all cells: FACETS's purity, the largest ``cf.em`` of an aberration."""

SPACING = 10_000
LISTED = 500_000
"""Segments of the truth from this length are listed."""

NOTHING, ABSENT = "?", "-"
"""No copies of each allele; no segment."""


@dataclass(frozen=True)
class Caller:
    """The joined table of one caller, in the order of the sites; ``total`` is -1 where a site was left out."""

    name: str
    major: np.ndarray
    minor: np.ndarray
    subclonal: np.ndarray
    has_segment: np.ndarray
    reasons: Counter[str]

    @property
    def joined(self) -> np.ndarray:
        """(N,) sites that have copy numbers."""
        return self.major >= 0

    @property
    def total(self) -> np.ndarray:
        """(N,) total copy number of the main state."""
        return self.major + self.minor


def sites() -> pd.DataFrame:
    """A mutation every `SPACING` bases."""
    positions = {
        chrom: np.arange(SPACING // 2, LENGTHS["GRCh37"][chrom], SPACING) for chrom in (*AUTOSOMES, "X")
    }
    table = pd.DataFrame(
        {
            "file": "sites",
            "row": 0,
            "chrom": np.repeat(list(positions), [len(of) for of in positions.values()]),
            "pos": np.concatenate(list(positions.values())),
            "ref": "A",
            "alt": "C",
            "gene": "",
            "sample_id": "HCC2218",
            "ref_counts": 30,
            "alt_counts": 10,
        }
    )
    return table.astype({"file": "category", "chrom": "category", "sample_id": "category"})


def call(name: str, path: Path, table: pd.DataFrame) -> Caller:
    """Join one caller's segments with the sites."""
    segments = read_segments(path, sample_id="HCC2218")
    joined, left_out = join(Variants(table), segments, sex="female", tumour_content=PURITY.get(name))
    place = {f"{chrom}:{pos}:A:C": row for row, (chrom, pos) in enumerate(zip(table["chrom"], table["pos"]))}
    rows = [place[name] for name in joined["mutation_id"]]
    major, minor = np.full((2, len(table)), -1)
    major[rows], minor[rows] = joined["major_cn"], joined["minor_cn"]
    subclonal = np.zeros(len(table), dtype=bool)
    subclonal[rows] = joined["subclonal_fraction"] > 0
    has_segment = np.ones(len(table), dtype=bool)
    reasons: Counter[str] = Counter()
    for item in left_out:
        is_gap = "no copy-number segment" in item.reason
        has_segment[place[item.mutation_id]] = not is_gap
        reasons["in no segment" if is_gap else "copies of each allele not told"] += 1
    return Caller(name, major, minor, subclonal, has_segment, reasons)


def percent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:.1f} %"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def joined_lines(callers: Sequence[Caller]) -> list[str]:
    """How many sites each caller's table has."""
    rows = [
        [
            caller.name,
            str(int(caller.joined.sum())),
            percent(caller.joined.mean()),
            str(caller.reasons["in no segment"]),
            str(caller.reasons["copies of each allele not told"]),
            str(int(caller.subclonal.sum())),
        ]
        for caller in callers
    ]
    return markdown(["caller", "joined", "share", "in no segment", "alleles unknown", "two states"], rows)


def agreement_lines(callers: Sequence[Caller]) -> list[str]:
    """How often two callers say the same of both alleles, of the total, and have the same table."""
    rows = []
    for one, other in combinations(callers, 2):
        both = one.joined & other.joined
        alleles = (one.major == other.major) & (one.minor == other.minor)
        rows.append(
            [
                f"{one.name}, {other.name}",
                str(int(both.sum())),
                percent((one.total == other.total)[both].mean()),
                percent(alleles[both].mean()),
            ]
        )
    return markdown(["callers", "joined by both", "same total", "same alleles"], rows)


def truth_lines(callers: Sequence[Caller], table: pd.DataFrame, truth: pd.DataFrame) -> list[str]:
    """How often each caller's total is the true one, by what is true."""
    true = true_totals(table, truth)
    kinds = {"1": true == 1, "3": true == 3, "4": true == 4, "5 and more": true >= 5, "all": true >= 0}
    rows = []
    for caller in callers:
        cells = [caller.name]
        for where in kinds.values():
            known = where & caller.joined
            cells.append(f"{percent((caller.total == true)[known].mean())} of {int(known.sum())}")
        rows.append(cells)
    return markdown(["caller", *(f"truth {kind}" for kind in kinds)], rows)


def true_totals(table: pd.DataFrame, truth: pd.DataFrame) -> np.ndarray:
    """(N,) true total of each site; -1 where the truth says nothing."""
    total = np.full(len(table), -1)
    for segment in truth.itertuples():
        total[within(table, segment)] = segment.tot_cn
    return total


def within(table: pd.DataFrame, segment) -> np.ndarray:  # type: ignore[no-untyped-def]
    """(N,) sites in a segment of the truth."""
    inside = (table["pos"] >= segment.start) & (table["pos"] <= segment.end)
    return (inside & (table["chrom"] == str(segment.chrom))).to_numpy()


def difference_lines(callers: Sequence[Caller], table: pd.DataFrame, truth: pd.DataFrame) -> list[str]:
    """The long segments of the truth, and the commonest total of each caller in them where it is another."""
    rows = []
    for segment in truth[truth["end"] - truth["start"] >= LISTED].itertuples():
        inside = within(table, segment)
        cells = [commonest(caller, inside) for caller in callers]
        if any(cell != str(segment.tot_cn) for cell in cells):
            where = f"{segment.chrom}:{segment.start}-{segment.end}"
            length = f"{(segment.end - segment.start) / 1e6:.1f}"
            shown = ["" if cell == str(segment.tot_cn) else cell for cell in cells]
            rows.append([where, length, str(segment.tot_cn), *shown])
    return markdown(["segment", "Mb", "truth", *(caller.name for caller in callers)], rows)


def commonest(caller: Caller, inside: np.ndarray) -> str:
    """What the caller says most often of some sites."""
    said = Counter(
        str(total) if joined else NOTHING if has_segment else ABSENT
        for total, joined, has_segment in zip(
            caller.total[inside].tolist(), caller.joined[inside].tolist(), caller.has_segment[inside].tolist()
        )
    )
    return said.most_common(1)[0][0]


PAGE = """# Four callers, one cell line

What `-c` makes of the segments of four callers for the breast cancer cell line HCC2218 (a woman, GRCh37), and how far
the result is from the truth. The files are those of the R package [pebbles](https://github.com/umccr/pebbles) (MIT
licence). A mutation was put every {spacing:,} bases of chromosomes 1 to 22 and X, {sites:,} in all, and joined with
each caller's segments. This page is made by `workflows/benchmark/hcc2218.py`.

The four tables differ where the callers differ, and only there: a test compares every joined row with a look into the
caller's file by hand.

## What is joined

{joined}

FACETS and CNVkit leave the alleles of a segment open where too few sites are heterozygous; PURPLE 2 where no site of
the chromosome tells (`actualBAF` 0). Mutations there are left out, unless the total is 0 or 1, or
`--genotype-prior total` is used. TitanCNA has two clusters of cells, the second with {share} of the tumour cells:
events of that cluster give two states, of which the normal one is the main one. FACETS's `cf.em` gives two states where
it is clearly below the purity, {purity}. Only PURPLE has segments from end to end of each chromosome; those of the
others begin and end at sites that were looked at.

## Do they agree?

{agreement}

Of two states the main one is compared. Two of the four fits went wrong, as the truth below shows:

* PURPLE's copy numbers are mostly half-way between whole numbers, 1.5 where FACETS and CNVkit say 2, so that rounding
  turns them either way. {far} of its {segments} segments are more than 0.25 from a whole number. `left_out.tsv` lists
  them one by one, and the terminal gives their number: such a file is not fit for use.
* TitanCNA takes the loss of one of two copies for a loss with gain of the other (2+0 where FACETS and CNVkit say 1+0),
  and puts a gain in {share} of the tumour cells over most of the normal genome. Nothing in its file tells so; a
  comparison with another caller does.

## Against the truth

The truth knows total copy numbers only, and only of segments that are not 2. Shares of the sites whose total is right,
of those that the caller's table has:

{truth}

## Where they differ

Segments of the truth of 0.5 Mb and more in which a caller most often says something else; empty where it is right,
`{absent}` where it has no segment, `{nothing}` where it does not tell the alleles.

{differences}
"""


def page(folder: Path) -> str:
    """The page for the files of a folder."""
    table = sites()
    callers = [call(name, folder / path, table) for name, path in FILES.items()]
    truth = pd.read_csv(folder / TRUTH, sep="\t", dtype={"chrom": str})
    purple = read_segments(folder / FILES["PURPLE"]).table
    titan = read_segments(folder / FILES["TitanCNA"]).table
    return PAGE.format(
        spacing=SPACING,
        sites=len(table),
        joined="\n".join(joined_lines(callers)),
        agreement="\n".join(agreement_lines(callers)),
        truth="\n".join(truth_lines(callers, table, truth)),
        differences="\n".join(difference_lines(callers, table, truth)),
        purity=PURITY["FACETS"],
        share=f"{100 * titan['fraction'].min():.0f} %",
        far=int((purple["rounding"] > 0.25).sum()),
        segments=len(purple),
        absent=ABSENT,
        nothing=NOTHING,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="the page; to the terminal without")
    options = parser.parse_args(arguments)
    try:
        text = page(options.folder)
    except (PycloneError, OSError) as fault:
        print(fault, file=sys.stderr)
        return 2
    if options.output is None:
        print(text, end="")
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
