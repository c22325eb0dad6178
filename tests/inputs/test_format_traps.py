"""One row a trap: what the files of segment and mutation callers really look like, and what is to be read from them.

Two tables: segments (format, trap, file, what each row is, or the error) and mutations (the same with read counts).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.segments.reading import read_segments


def tabs(*rows: str) -> str:
    """Rows written with single spaces, as tab-separated lines."""
    return "".join(row.replace(" ", "\t").replace("·", " ") + "\n" for row in rows)


FACETS = "chrom seg num.mark nhet cnlr.median mafR segclust cnlr.median.clust mafR.clust start end cf.em tcn.em lcn.em"
OLD_TITAN = (
    "Sample Chromosome Start_Position(bp) End_Position(bp) Length(bp) Median_Ratio Median_logR TITAN_state TITAN_call "
    "Copy_Number MinorCN MajorCN Clonal_Cluster Clonal_Frequency"
)
TITAN = (
    "Sample Chromosome Start_Position.bp. End_Position.bp. Length.snp. Median_Ratio Median_HaplotypeRatio Median_logR "
    "TITAN_state TITAN_call Copy_Number MinorCN MajorCN Clonal_Cluster Cellular_Prevalence logR_Copy_Number "
    "Corrected_Copy_Number Corrected_Call Corrected_MajorCN Corrected_MinorCN"
)
PURPLE = (
    "chromosome start end copyNumber bafCount observedBAF baf segmentStartSupport segmentEndSupport method "
    "depthWindowCount gcContent minStart maxStart minorAlleleCopyNumber majorAlleleCopyNumber"
)
OLD_PURPLE = "#chromosome start end copyNumber bafCount observedBAF actualBAF segmentStartSupport method"
BATTENBERG = (
    "chr startpos endpos BAF pval LogR ntot nMaj1_A nMin1_A frac1_A nMaj2_A nMin2_A frac2_A SDfrac_A SDfrac_A_BS "
    "frac1_A_0.025 frac1_A_0.975 nMaj1_B nMin1_B frac1_B nMaj2_B nMin2_B frac2_B"
)
ONE_STATE = "NA " * 12 + "NA"

PLACE = ["sample_id", "chrom", "start", "end"]
COPIES = ["major_cn", "minor_cn"]
STATES = ["fraction", *COPIES, "subclonal_fraction", "subclonal_major_cn", "subclonal_minor_cn"]

SEGMENTS = {
    "FACETS: 23 is X": (
        tabs(FACETS, "23 1 9 9 0 0 1 0 0 11 99 1 2 1"),
        ["chrom"],
        [("X",)],
    ),
    "FACETS: major is tcn.em - lcn.em": (
        tabs(FACETS, "1 1 9 20 0 0 1 0 0 11 99 0.6 6 2"),
        COPIES,
        [(4, 2)],
    ),
    "FACETS: lcn.em NA below 15 heterozygous SNPs, and no choice for 0 and 1 copies": (
        tabs(FACETS, "1 1 9 12 0 0 1 0 NA 11 99 NA 3 NA", "1 2 9 12 0 0 1 0 NA 100 199 NA 1 NA"),
        COPIES,
        [(3, -1), (1, 0)],
    ),
    "FACETS: cf.em is of all cells, but 1 or NA for normal states": (
        tabs(
            FACETS,
            *(f"1 1 9 20 0 0 1 0 0 {place} 1" for place in ("11 99 0.3 3", "101 199 1 2", "201 299 NA 2")),
        ),
        ["fraction", *COPIES, "of_all_cells"],
        [(0.3, 2, 1, True), (1.0, 1, 1, False), (1.0, 1, 1, False)],
    ),
    "facets-suite: ID, loc.start, loc.end, and estimates without .em before those with": (
        tabs(
            "ID chrom loc.start loc.end num.mark cf tcn lcn cf.em tcn.em lcn.em",
            "S 1 11 99 9 0.6 8 3 0.6 5 1",
        ),
        [*PLACE, *COPIES],
        [("S", "1", 11, 99, 4, 1)],
    ),
    "facetsHeatmap: sid, chrom, loc.start, loc.end, tcn.em, lcn.em only": (
        tabs("sid chrom loc.start loc.end tcn.em lcn.em", "s_67 1 11 99 2 0"),
        [*PLACE, *COPIES],
        [("s_67", "1", 11, 99, 2, 0)],
    ),
    "TitanCNA: positions in columns with brackets": (
        tabs(OLD_TITAN, "S 1 11 99 88 0.7 0.1 5 GAIN 3 1 2 1 1"),
        [*PLACE, *COPIES],
        [("S", "1", 11, 99, 2, 1)],
    ),
    "TitanCNA: the same columns with dots, and Cellular_Frequency": (
        tabs(
            OLD_TITAN.replace("(", ".").replace(")", ".").replace("Clonal_Freq", "Cellular_Freq"),
            "S 1 11 99 88 0.7 0.1 5 GAIN 3 1 2 2 0.27",
        ),
        ["chrom", "start", *STATES[:3]],
        [("1", 11, 0.27, 2, 1)],
    ),
    "TitanCNA: copies corrected for purity and ploidy go first": (
        tabs(TITAN, "S 1 11 99 88 0.7 NA 0.1 22 UBCNA 8 2 6 1 0.9 12.3 12 UBCNA 9 3"),
        STATES[:3],
        [(0.9, 9, 3)],
    ),
    "TitanCNA: the corrected total goes before corrected alleles that differ": (
        tabs(TITAN, "S 1 11 99 88 0.7 NA 0.1 22 HLAMP 8 1 7 1 0.9 20.3 20 HLAMP 7 1"),
        COPIES,
        [(19, 1)],
    ),
    "TitanCNA: no corrected alleles on the X of a man, only the total": (
        tabs(TITAN, "S X 11 99 88 NA NA 0.1 NA NA NA NA NA NA NA 2.1 2 GAIN NA NA"),
        ["fraction", *COPIES],
        [(1.0, 2, -1)],
    ),
    "TitanCNA: HET has no cluster and no prevalence": (
        tabs(OLD_TITAN, "S 1 11 99 88 0.5 0 4 HET 2 1 1 NA NA"),
        STATES[:3],
        [(1.0, 1, 1)],
    ),
    "PURPLE: real copy numbers, below 0 too": (
        tabs(PURPLE, "1 1 99 1.98 0 0 1.01 TELOMERE DEL BAF_WEIGHTED 9 0.4 1 1 -0.0117 1.9917"),
        [*PLACE, *COPIES],
        [("", "1", 1, 99, 2, 0)],
    ),
    "PURPLE 2: the header begins with #": (
        tabs(OLD_PURPLE, "1 1 36946000 0.8 2 1.0 1.0 TELOMERE BAF_WEIGHTED"),
        [*PLACE, *COPIES],
        [("", "1", 1, 36946000, 1, 0)],
    ),
    "PURPLE 2: no alleles: minor is copyNumber·(1 - actualBAF)": (
        tabs(OLD_PURPLE, "1 1 99 5.1 3 0.6 0.6 TELOMERE BAF_WEIGHTED"),
        COPIES,
        [(3, 2)],
    ),
    "PURPLE 2: actualBAF 0 is no frequency": (
        tabs(OLD_PURPLE, "6 1 99 2.1 0 0.0 0.0 TELOMERE BAF_WEIGHTED"),
        COPIES,
        [(2, -1)],
    ),
    "CNVkit: from 0, end not part": (
        tabs(
            "chromosome start end gene log2 cn cn1 cn2 depth",
            "chr1 0 100 A 0 3 2 1 9",
            "chr1 100 200 A 0 2 1 1 9",
        ),
        [*PLACE[1:], *COPIES],
        [("1", 1, 100, 2, 1), ("1", 101, 200, 1, 1)],
    ),
    "CNVkit: columns in any order, commas in gene": (
        tabs("chromosome start end cn2 cn1 cn baf log2 gene", "chrX 0 100 1 2 3 0.3 0.5 A,B,C"),
        ["chrom", *COPIES],
        [("X", 2, 1)],
    ),
    "CNVkit: alleles blank where no SNP is heterozygous, at the end of the line too": (
        "chromosome\tstart\tend\tgene\tlog2\tcn\tcn1\tcn2\n1\t0\t9\t-\t0\t3\t\t\n1\t9\t19\t-\t0\t1\t\t\n",
        COPIES,
        [(3, -1), (1, 0)],
    ),
    "CNVkit .cns: not called": (
        tabs("chromosome start end gene log2 probes weight depth", "chr1 0 9 A 0.1 9 9 9"),
        None,
        "log ratios only (column log2), no copy numbers",
    ),
    "CNVkit call.cns without a VCF: totals only": (
        tabs("chromosome start end gene log2 cn depth probes weight", "chr1 0 9 A 0.1 2 9 9 9"),
        None,
        "total copy numbers only (column cn): the model needs the copies of each allele",
    ),
    "Sequenza: quoted, with tabs": (
        '"chromosome"\t"start.pos"\t"end.pos"\t"CNt"\t"A"\t"B"\n"chr1"\t11\t99\t3\t2\t1\n',
        [*PLACE, *COPIES],
        [("", "1", 11, 99, 2, 1)],
    ),
    "Sequenza: row names without a name, spaces: the first column is not the chromosome": (
        '"chromosome" "start.pos" "end.pos" "Bf" "CNt" "A" "B"\n"chr1.1" "chr1" 11 99 0.3 3 2 1\n',
        [*PLACE, *COPIES],
        [("", "1", 11, 99, 2, 1)],
    ),
    "ASCAT: segments.txt": (
        tabs("sample chr startpos endpos nMajor nMinor", "S 1 11 99 3 2"),
        [*PLACE, *COPIES, "normal_cn"],
        [("S", "1", 11, 99, 3, 2, -1)],
    ),
    "ascatNgs: no header; totals, of which the second is the minor": (
        "1,1,11,99,2,1,3,1\n2,X,11,99,1,0,2,0\n3,Y,11,99,0,0,0,0\n",
        ["row", *PLACE, *COPIES, "normal_cn"],
        [(1, "", "1", 11, 99, 2, 1, 2), (2, "", "X", 11, 99, 2, 0, 1), (3, "", "Y", 11, 99, 0, 0, 0)],
    ),
    "ASCAT of SigProfiler: spaces in names; TCN, BCN; 24 is Y": (
        tabs(
            "Sample Chromosome Start·Position End·Position Normal·TCN Normal·BCN Tumour·TCN Tumour·BCN",
            "S 24 11 99 1 0 5 2",
        ),
        [*PLACE, *COPIES, "normal_cn"],
        [("S", "Y", 11, 99, 3, 2, 1)],
    ),
    "scarHRD: A_cn is mostly the smaller, not always": (
        tabs(
            "SampleID Chromosome Start_position End_position total_cn A_cn B_cn ploidy",
            "S chr1 11 99 5 1 4 3.7",
            "S chr1 100 199 5 3 2 3.7",
        ),
        COPIES,
        [(4, 1), (3, 2)],
    ),
    "scarHRD: a segment that ends before it starts": (
        tabs(
            "SampleID Chromosome Start_position End_position total_cn A_cn B_cn ploidy",
            "S chr1 11 99 5 1 4 3.7",
            "S chr1 190974542 188919678 2 1 1 3.7",
        ),
        ["start"],
        [(11,)],
    ),
    "Battenberg: shares of the tumour cells, the second can be the larger": (
        tabs(BATTENBERG, "1 11 99 0.6 0 0.1 2.7 2 1 0.28 1 1 0.72 0.1 0.1 0.2 0.4 3 1 1 NA NA NA"),
        STATES,
        [(0.28, 2, 1, 0.72, 1, 1)],
    ),
    "Battenberg: no second state is clonal, whatever frac1_A says; solution B is not looked at": (
        tabs(
            BATTENBERG,
            f"1 11 99 0.6 1 0.1 3 2 1 1 {ONE_STATE}",
            "1 100 199 0.6 1 0.1 3 2 1 0.9 NA NA NA " + "5 5 " * 4 + "5 5",
        ),
        STATES[:3],
        [(1.0, 2, 1), (1.0, 2, 1)],
    ),
    "Battenberg: row numbers without a name: the first column is not the chromosome": (
        tabs(BATTENBERG, f"7 1 11 99 0.6 1 0.1 3 2 1 1 {ONE_STATE}"),
        [*PLACE, *COPIES],
        [("", "1", 11, 99, 2, 1)],
    ),
    "a separator behind the rows, but not behind the header, and a segment of each chromosome": (
        "chrom\tstart\tend\tmajor_cn\tminor_cn\n1\t11\t99\t2\t1\t\n2\t11\t99\t1\t1\t\n",
        [*PLACE, *COPIES],
        [("", "1", 11, 99, 2, 1), ("", "2", 11, 99, 1, 1)],
    ),
    "Battenberg: row numbers, and nothing for NA at the end of all rows": (
        "\t".join(BATTENBERG.split()[:13])
        + "\n1\t1\t11\t99\t0.6\t1\t0.1\t3\t2\t1\t1\t\t\t\n2\t2\t11\t99\t0.6\t1\t0.1\t3\t2\t1\t1\t\t\t\n",
        [*PLACE, *COPIES],
        [("", "1", 11, 99, 2, 1), ("", "2", 11, 99, 2, 1)],
    ),
    "Battenberg of PCAWG: sample, and columns clone_* before those of solution A": (
        tabs(
            "sample Battenberg chr startpos endpos clone_frac clone_nMaj clone_nMin subclone_frac subclone_nMaj "
            "subclone_nMin nMaj1_A nMin1_A frac1_A nMaj2_A nMin2_A frac2_A",
            "S Battenberg_0 1 11 99 0.51 3 1 0.49 3 0 3 0 0.49 3 1 0.51",
            "S Battenberg_0 1 100 199 1 10 2 0 NA NA 10 2 1 NA NA 0",
        ),
        ["sample_id", *STATES],
        [("S", 0.49, 3, 0, 0.51, 3, 1), ("S", 1.0, 10, 2, None, -1, -1)],
    ),
    "PhyloWGS: minor before major, small x, shares of all cells": (
        tabs(
            "chromosome start end copy_number minor_cn major_cn cellular_prevalence", "x 11 99 3 1 2 0.64392"
        ),
        ["chrom", "fraction", *COPIES, "of_all_cells"],
        [("X", 0.64392, 2, 1, True)],
    ),
    "PhyloWGS: the states of a segment in two rows": (
        tabs(
            "chromosome start end copy_number minor_cn major_cn cellular_prevalence",
            "1 11 99 3 1 2 0.3",
            "1 11 99 2 1 1 0.5",
        ),
        STATES,
        [(0.3, 2, 1, 0.5, 1, 1)],
    ),
    "PureCN: the total is real in subclonal segments, the minor copies NA without SNPs": (
        tabs(
            "Sampleid chr start end arm C M type seg.mean",
            "S 1 11 99 p 2.6 1 NA 0.1",
            "S 1 101 199 p 3 NA NA 0.2",
        ),
        COPIES,
        [(2, 1), (3, -1)],
    ),
    "PCGR: Chromosome, Start, End, nMajor, nMinor": (
        tabs("Chromosome Start End nMajor nMinor", "1 11 99 2 1"),
        [*PLACE, *COPIES],
        [("", "1", 11, 99, 2, 1)],
    ),
    "IGV .seg: log ratios are no copy numbers": (
        tabs("Sample Chromosome Start End Num_Probes Segment_Mean", "S 1 11 99 15 -0.683"),
        None,
        "log ratios only (column Segment_Mean), no copy numbers",
    ),
    "MutationTimeR: clonal_frequency is of all cells": (
        tabs("seqnames start end width strand major_cn minor_cn clonal_frequency", "1 11 99 89 * 2 1 0.7"),
        ["fraction", *COPIES, "of_all_cells"],
        [(0.7, 2, 1, True)],
    ),
    "CliP: chromosome_index, start_position, end_position": (
        tabs("chromosome_index start_position end_position major_cn minor_cn total_cn", "23 11 99 2 1 3"),
        [*PLACE, *COPIES],
        [("", "X", 11, 99, 2, 1)],
    ),
    "DPClust input: mutations, not segments": (
        tabs(
            "chr end WT.count mut.count subclonal.CN mutation.copy.number subclonal.fraction",
            "1 99 9 9 2 1 1",
        ),
        None,
        "the format of these segments is not recognised",
    ),
    "PyClone-VI table in place of segments": (
        tabs("mutation_id sample_id ref_counts alt_counts major_cn minor_cn normal_cn", "m S 9 9 1 1 2"),
        None,
        "the format of these segments is not recognised",
    ),
    "R: large positions as 1e+05": (
        tabs("Chromosome Start End nMajor nMinor", "1 1e+05 2e+05 2 1"),
        ["start", "end"],
        [(100_000, 200_000)],
    ),
}


@pytest.mark.parametrize("trap", SEGMENTS)
def test_segments(tmp_path: Path, trap: str) -> None:
    content, columns, expected = SEGMENTS[trap]
    path = tmp_path / "s.tsv"
    path.write_text(content)
    if columns is None:
        with pytest.raises(InputError) as caught:
            read_segments(path)
        assert expected in str(caught.value)
        return
    table = read_segments(path).table[columns].astype(object)
    rows = table.where(table.notna(), None)
    assert list(rows.itertuples(index=False, name=None)) == expected


def vcf(header: str, *rows: str) -> str:
    """A VCF with a line of column names and records, written with single spaces."""
    return "##fileformat=VCFv4.2\n" + header + "".join(row.replace(" ", "\t") + "\n" for row in rows)


FIXED = "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT"
STRELKA = "DP:FDP:SDP:SUBDP:AU:CU:GU:TU"
NAMED = "##tumor_sample=T1\n##normal_sample=N1\n"

MUTATIONS = {
    "Mutect2: the tumour is the one that ##tumor_sample names, whatever the order": (
        vcf(NAMED, FIXED + " N1 T1", "chr1 9 . A C . PASS . GT:AD 0/0:50,0 0/1:30,10"),
        [("1", 9, "A", "C", "T1", 30, 10)],
    ),
    "Mutect2: several alternates": (
        vcf(NAMED, FIXED + " N1 T1", "1 9 . A C,G . PASS . GT:AD 0/0:50,0,0 0/1/2:30,10,7"),
        [("1", 9, "A", "C", "T1", 30, 10), ("1", 9, "A", "G", "T1", 30, 7)],
    ),
    "MuTect1: REJECT": (
        vcf("", FIXED + " NORMAL TUMOR", *(f"1 {at} . A C . {what} . GT:AD:BQ:DP:FA 0:50,0:.:50:0 0/1:30,10:30:40:0.25"
                                          for at, what in ((8, "REJECT"), (9, "PASS")))),
        [("1", 9, "A", "C", "s", 30, 10)],
    ),
    "Strelka SNV: first number of the base, no AD": (
        vcf("", FIXED + " NORMAL TUMOR", f"1 9 . A G . PASS . {STRELKA} 26:0:0:0:26,26:0,0:0,0:0,0 "
            "18:0:0:0:8,9:0,0:10,12:0,0"),
        [("1", 9, "A", "G", "s", 8, 10)],
    ),
    "Strelka indel: TAR and TIR": (
        vcf("", FIXED + " NORMAL TUMOR", "1 9 . GC G . PASS . DP:DP2:TAR:TIR:TOR 3:3:3,3:0,0:0,0 "
            "94:94:13,14:78,79:3,3"),
        [("1", 9, "GC", "G", "s", 13, 78)],
    ),
    "VarScan2: AD is the alternate only": (
        vcf("", FIXED + " NORMAL TUMOR", "1 9 . A G . PASS . GT:GQ:DP:RD:AD:FREQ:DP4 0/0:.:50:50:0:0%:9,9,0,0 "
            "0/1:.:91:56:35:38.46%:31,25,16,19"),
        [("1", 9, "A", "G", "s", 56, 35)],
    ),
    "MuSE: the tumour stands first": (
        vcf("", FIXED + " TUMOR NORMAL", "1 9 . C A . PASS . GT:DP:AD:BQ:SS 0/1:142:130,12:38,31:2 "
            "0/0:105:104,0:38,0:."),
        [("1", 9, "C", "A", "s", 130, 12)],
    ),
    "SomaticSniper: DP4": (
        vcf("", FIXED + " NORMAL TUMOR", "1 9 . C G . PASS . GT:IGT:DP:DP4:BCOUNT 0/0:0/0:10:0,10,0,0:0,10,0,0 "
            "0/1:0/1:7:1,3,2,4:0,4,6,0"),
        [("1", 9, "C", "G", "s", 4, 6)],
    ),
    "RADIA: a third column, of RNA": (
        vcf("", FIXED + " DNA_NORMAL DNA_TUMOR RNA_TUMOR", "1 9 . C T . PASS . GT:DP:AD 0/0:117:117,0 0/1:106:95,11 "
            "0/1:190:161,29"),
        [("1", 9, "C", "T", "s", 95, 11)],
    ),
    "MAF: t_ref_count and t_alt_count": (
        tabs(
            "Hugo_Symbol Chromosome Start_Position End_Position Reference_Allele Tumor_Seq_Allele1 Tumor_Seq_Allele2 "
            "Tumor_Sample_Barcode t_ref_count t_alt_count",
            "TP53 chr17 9 9 A A C T1 30 10",
        ),
        [("17", 9, "A", "C", "T1", 30, 10)],
    ),
    "MAF: no counts": (
        tabs(
            "Hugo_Symbol Chromosome Start_Position End_position Reference_Allele Tumor_Seq_Allele1 Tumor_Seq_Allele2 "
            "Tumor_Sample_Barcode i_TumorVAF_WU",
            "ABCA10 17 9 9 T T C T1 45.66",
        ),
        "t_ref_count",
    ),
}  # fmt: skip


@pytest.mark.parametrize("trap", MUTATIONS)
def test_mutations(tmp_path: Path, trap: str) -> None:
    from pyclone_pgsm.inputs.mutations.reading import read_variants

    content, expected = MUTATIONS[trap]
    path = tmp_path / ("s.vcf" if content.startswith("##fileformat") else "s.maf")
    path.write_text(content)
    if isinstance(expected, str):
        with pytest.raises(InputError) as caught:
            read_variants([path])
        assert expected in str(caught.value)
        return
    columns = ["chrom", "pos", "ref", "alt", "sample_id", "ref_counts", "alt_counts"]
    assert list(read_variants([path]).table[columns].itertuples(index=False, name=None)) == expected
