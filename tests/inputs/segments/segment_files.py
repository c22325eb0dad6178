"""One small file of each format, as its tool writes it, and the same segments as everyone should read them.

Two segments of chromosome 1: 1001 to 2000 with copies 2+1, 2001 to 5000 with 1+0; and 101 to 900 of X with 1+1.
"""

from __future__ import annotations

import pandas as pd

from pyclone_pgsm.inputs.mutations.model import Variants
from pyclone_pgsm.inputs.segments.model import COLUMNS

PLACES = [("1", 1001, 2000), ("1", 2001, 5000), ("X", 101, 900)]
COPIES = [(2, 1), (1, 0), (1, 1)]


def tabs(*rows: str) -> str:
    """Rows written with single spaces, as tab-separated lines."""
    return "".join(row.replace(" ", "\t").replace("·", " ") + "\n" for row in rows)


_BATTENBERG = (
    "chr startpos endpos BAF pval LogR ntot nMaj1_A nMin1_A frac1_A nMaj2_A nMin2_A frac2_A SDfrac_A"
)
_TITAN = (
    "Sample Chromosome {start} {end} Length.snp. Median_Ratio Median_logR TITAN_state TITAN_call Copy_Number "
    "MinorCN MajorCN Clonal_Cluster {share}"
)
_OLD_TITAN = _TITAN.format(start="Start_Position(bp)", end="End_Position(bp)", share="Clonal_Frequency")
_NEW_TITAN = _TITAN.format(start="Start_Position.bp.", end="End_Position.bp.", share="Cellular_Prevalence")
_PURPLE = "start end copyNumber bafCount observedBAF {baf} segmentStartSupport segmentEndSupport method"

FILES: dict[str, tuple[str, str]] = {
    "hatchet": (
        "hatchet",
        tabs(
            "#CHR START END SAMPLE cn_normal u_normal cn_clone1 u_clone1 cn_clone2 u_clone2",
            "chr1 1000 2000 S 1|1 0.2 2|1 0.5 1|2 0.3",
            "chr1 2000 5000 S 1|1 0.2 0|1 0.5 1|0 0.3",
            "chrX 100 900 S 1|1 0.2 1|1 0.5 1|1 0.3",
        ),
    ),
    "hatchet bins": (
        "hatchet",
        tabs(
            "#CHR START END SAMPLE RD #SNPS COV ALPHA BETA BAF CLUSTER cn_normal u_normal cn_clone1 u_clone1",
            "1 1000 2000 S 1.5 12 40 80 40 0.33 3 1|1 0.2 2|1 0.8",
            "1 2000 5000 S 0.5 12 40 80 0 0.01 4 1|1 0.2 1|0 0.8",
            "X 100 900 S 1.0 12 40 80 80 0.5 1 1|1 0.2 1|1 0.8",
        ),
    ),
    "ascat segments.txt": (
        "ascat",
        tabs(
            "sample chr startpos endpos nMajor nMinor",
            "S 1 1001 2000 2 1",
            "S 1 2001 5000 1 0",
            "S X 101 900 1 1",
        ),
    ),
    "ascat caveman": (
        "ascat",
        "1,1,1001,2000,2,1,3,1\n2,1,2001,5000,2,1,1,0\n3,X,101,900,2,1,2,1\n",
    ),
    "ascat sigprofiler": (
        "ascat",
        tabs(
            "Sample Chromosome Start·Position End·Position Normal·TCN Normal·BCN Tumour·TCN Tumour·BCN",
            "S 1 1001 2000 2 1 3 1",
            "S 1 2001 5000 2 1 1 0",
            "S 23 101 900 2 1 2 1",
        ),
    ),
    "ascat scarhrd": (
        "ascat",
        tabs(
            "SampleID Chromosome Start_position End_position total_cn A_cn B_cn ploidy",
            "S chr1 1001 2000 3 1 2 2.7",
            "S chr1 2001 5000 1 1 0 2.7",
            "S chrX 101 900 2 1 1 2.7",
        ),
    ),
    "battenberg": (
        "battenberg",
        tabs(
            _BATTENBERG,
            "1 1001 2000 0.66 1 0.5 3 2 1 1 NA NA NA NA",
            "1 2001 5000 0.9 1 -0.5 1 1 0 1 NA NA NA NA",
            "X 101 900 0.5 1 0 2 1 1 1 NA NA NA NA",
        ),
    ),
    "battenberg with row names": (
        "battenberg",
        tabs(
            _BATTENBERG,
            "1 1 1001 2000 0.66 1 0.5 3 2 1 1 NA NA NA NA",
            "2 1 2001 5000 0.9 1 -0.5 1 1 0 1 NA NA NA NA",
            "3 X 101 900 0.5 1 0 2 1 1 1 NA NA NA NA",
        ),
    ),
    "battenberg pcawg": (
        "battenberg",
        tabs(
            "sample Battenberg chr startpos endpos clone_frac clone_nMaj clone_nMin subclone_frac subclone_nMaj "
            "subclone_nMin nMaj1_A nMin1_A frac1_A nMaj2_A nMin2_A frac2_A",
            "S Battenberg_0 1 1001 2000 1 2 1 0 NA NA 2 1 1 NA NA 0",
            "S Battenberg_0 1 2001 5000 1 1 0 0 NA NA 1 0 1 NA NA 0",
            "S Battenberg_0 X 101 900 1 1 1 0 NA NA 1 1 1 NA NA 0",
        ),
    ),
    "facets cncf": (
        "facets",
        tabs(
            "chrom seg num.mark nhet cnlr.median mafR segclust cnlr.median.clust mafR.clust start end cf.em tcn.em "
            "lcn.em",
            "1 1 100 20 0.3 0.2 1 0.3 0.2 1001 2000 0.8 3 1",
            "1 2 100 20 -1 0.2 2 -1 NA 2001 5000 0.8 1 0",
            "23 3 100 20 0 0 3 0 0.2 101 900 1 2 1",
        ),
    ),
    "facets suite": (
        "facets",
        tabs(
            "ID chrom loc.start loc.end num.mark nhet cnlr.median cf tcn lcn cf.em tcn.em lcn.em",
            "S 1 1001 2000 100 20 0.3 0.8 4 1 0.8 3 1",
            "S 1 2001 5000 100 20 -1 0.8 1 0 0.8 1 0",
            "S 23 101 900 100 20 0 0.8 2 1 1 2 1",
        ),
    ),
    "sequenza": (
        "sequenza",
        '"chromosome"\t"start.pos"\t"end.pos"\t"Bf"\t"N.BAF"\t"depth.ratio"\t"CNt"\t"A"\t"B"\t"LPP"\n'
        '"chr1"\t1001\t2000\t0.3\t254\t0.8\t3\t2\t1\t-4.9\n'
        '"chr1"\t2001\t5000\t0.1\t254\t0.4\t1\t1\t0\t-4.9\n'
        '"chrX"\t101\t900\t0.5\t254\t0.6\t2\t1\t1\t-4.9\n',
    ),
    "sequenza with row names": (
        "sequenza",
        '"chromosome" "start.pos" "end.pos" "Bf" "N.BAF" "depth.ratio" "CNt" "A" "B" "LPP"\n'
        '"chr1.1" "chr1" 1001 2000 0.3 254 0.8 3 2 1 -4.9\n'
        '"chr1.2" "chr1" 2001 5000 0.1 254 0.4 1 1 0 -4.9\n'
        '"chrX.1" "chrX" 101 900 0.5 254 0.6 2 1 1 -4.9\n',
    ),
    "purple 3": (
        "purple",
        tabs(
            f"chromosome {_PURPLE.format(baf='baf')} minorAlleleCopyNumber majorAlleleCopyNumber",
            "1 1001 2000 3.01 12 0.6 0.66 TELOMERE NONE BAF_WEIGHTED 1.0 2.01",
            "1 2001 5000 0.99 12 1 1.005 NONE CENTROMERE BAF_WEIGHTED -0.005 0.995",
            "X 101 900 2.0 12 0.5 0.5 NONE CENTROMERE BAF_WEIGHTED 1.0 1.0",
        ),
    ),
    "purple 2": (
        "purple",
        tabs(
            f"#chromosome {_PURPLE.format(baf='actualBAF')}",
            "1 1001 2000 3.03 12 0.6 0.66 TELOMERE NONE BAF_WEIGHTED",
            "1 2001 5000 0.99 12 1 1.0 NONE CENTROMERE BAF_WEIGHTED",
            "X 101 900 2.02 12 0.5 0.51 NONE CENTROMERE BAF_WEIGHTED",
        ),
    ),
    "cnvkit": (
        "cnvkit",
        tabs(
            "chromosome start end gene log2 baf cn cn1 cn2 depth probes weight",
            "chr1 1000 2000 A,B 0.4 0.33 3 2 1 186 15 3.3",
            "chr1 2000 5000 - -0.9 0.1 1 1 0 86 15 3.3",
            "chrX 100 900 C 0 0.5 2 1 1 86 15 3.3",
        ),
    ),
    "titan": (
        "titan",
        tabs(
            _NEW_TITAN,
            "S 1 1001 2000 12 0.6 0.4 5 GAIN 3 1 2 1 1",
            "S 1 2001 5000 12 0.9 -0.9 2 DLOH 1 0 1 1 1",
            "S X 101 900 12 0.5 0 4 HET 2 1 1 NA NA",
        ),
    ),
    "titan old": (
        "titan",
        tabs(
            _OLD_TITAN,
            "S 1 1001 2000 12 0.6 0.4 5 GAIN 3 1 2 1 1",
            "S 1 2001 5000 12 0.9 -0.9 2 DLOH 1 0 1 1 1",
            "S X 101 900 12 0.5 0 4 HET 2 1 1 NA NA",
        ),
    ),
    "titan corrected": (
        "titan",
        tabs(
            f"{_NEW_TITAN} logR_Copy_Number Corrected_Copy_Number Corrected_Call Corrected_MajorCN Corrected_MinorCN",
            "S 1 1001 2000 12 0.6 0.4 5 GAIN 8 3 5 1 1 3.1 3 GAIN 2 1",
            "S 1 2001 5000 12 0.9 -0.9 2 DLOH 1 0 1 1 1 1.0 1 DLOH 1 0",
            "S X 101 900 12 0.5 0 4 HET 2 1 1 NA NA 2.0 2 HET 1 1",
        ),
    ),
    "phylowgs": (
        "phylowgs",
        tabs(
            "chromosome start end copy_number minor_cn major_cn cellular_prevalence",
            "1 1001 2000 3 1 2 0.8",
            "1 2001 5000 1 0 1 0.8",
            "x 101 900 2 1 1 0.8",
        ),
    ),
    "mutationtimer": (
        "mutationtimer",
        tabs(
            "seqnames start end width strand major_cn minor_cn clonal_frequency",
            "1 1001 2000 1000 * 2 1 0.8",
            "1 2001 5000 3000 * 1 0 0.8",
            "X 101 900 800 * 1 1 0.8",
        ),
    ),
    "absolute": (
        "absolute",
        tabs(
            "sample Chromosome Start.bp End.bp n_probes total_copy_ratio modal_total_cn modal.a1 modal.a2 subclonal.a1",
            "S 1 1001 2000 10 1.4 3 1 2 0",
            "S 1 2001 5000 10 0.6 1 0 1 0",
            "S X 101 900 10 1 2 1 1 0",
        ),
    ),
    "absolute of TCGA": (
        "absolute",
        tabs(
            "Sample Chromosome Start End Num_Probes Length Modal_Total_CN Modal_HSCN_1 Modal_HSCN_2 LOH",
            "S 1 1001 2000 10 1000 3 1 2 0",
            "S 1 2001 5000 10 3000 1 0 1 1",
            "S X 101 900 10 800 2 1 1 0",
        ),
    ),
    "purecn": (
        "purecn",
        tabs(
            "Sampleid chr start end arm C M type seg.mean num.mark num.snps M.flagged",
            "S chr1 1001 2000 p 3 1 NA 0.3 10 10 FALSE",
            "S chr1 2001 5000 p 1 0 LOH -0.6 10 10 FALSE",
            "S chrX 101 900 p 2 1 NA 0 10 10 FALSE",
        ),
    ),
    "pcgr": (
        "pcgr",
        tabs(
            "Chromosome Start End nMajor nMinor",
            "1 1001 2000 2 1",
            "1 2001 5000 1 0",
            "X 101 900 1 1",
        ),
    ),
    "generic": (
        "generic",
        "chrom,start,end,major_cn,minor_cn,sample_id,normal_cn\n"
        "1,1001,2000,2,1,S,2\n1,2001,5000,1,0,S,2\nX,101,900,1,1,S,2\n",
    ),
    "generic total and minor": (
        "generic",
        tabs("chrom start end minor_cn total_cn", "1 1001 2000 1 3", "1 2001 5000 0 1", "X 101 900 1 2"),
    ),
    "generic clip": (
        "generic",
        tabs(
            "chromosome_index start_position end_position major_cn minor_cn total_cn",
            "1 1001 2000 2 1 3",
            "1 2001 5000 1 0 1",
            "23 101 900 1 1 2",
        ),
    ),
}
"""Name to format and content."""


def variants(*rows: tuple, file: str = "v.vcf") -> Variants:
    """Mutations from (chrom, pos) or (chrom, pos, sample), A>C with 30 and 10 reads."""
    full = [row if len(row) == 3 else (*row, "S") for row in rows]
    table = pd.DataFrame(
        {
            "file": pd.Categorical([file] * len(full)),
            "row": range(10, 10 + len(full)),
            "chrom": pd.Categorical([row[0] for row in full]),
            "pos": [row[1] for row in full],
            "ref": "A",
            "alt": "C",
            "gene": "",
            "sample_id": pd.Categorical([row[2] for row in full]),
            "ref_counts": 30,
            "alt_counts": 10,
        }
    )
    return Variants(table)


def segment_table(*rows: dict) -> pd.DataFrame:
    """A table of segments; what a row does not say is 1+1 on chromosome 1 of sample S."""
    plain = {
        "file": "s.tsv", "row": 2, "sample_id": "S", "chrom": "1", "start": 1, "end": 1000, "major_cn": 1,
        "minor_cn": 1, "normal_cn": -1, "fraction": 1.0, "subclonal_major_cn": -1, "subclonal_minor_cn": -1,
        "subclonal_fraction": float("nan"), "other_fraction": 0.0, "of_all_cells": False,
        "rounding": 0.0,
    }  # fmt: skip
    full = [{**plain, "row": 2 + place, **row} for place, row in enumerate(rows)]
    return pd.DataFrame(full, columns=list(COLUMNS)).astype(COLUMNS)
