"""Files of real callers, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from variant_files import counts, read

from pyclone_pgsm.errors import InputError

DATA = Path(
    os.environ.get("PYCLONE_PGSM_TEST_DATA") or Path(__file__).resolve().parents[3].parent / "shared" / "data"
)


def data(name: str) -> Path:
    path = DATA / "formats" / name
    if not path.exists():
        pytest.skip(f"no test data: {name}")
    return path


@pytest.mark.parametrize(
    ("name", "options", "rows", "left_out", "first"),
    [
        ("mutect2_TN_VAtools", {"all_filters": True}, 1, 0, ("Tumor-666", 76, 7)),
        ("mutect2_TN_multiallelic_VAtools", {"all_filters": True}, 2, 0, ("CV023_T", 157, 15)),
        ("mutect2_chrM_tumouronly_varcode", {}, 11, 0, ("NA12878", 3, 1556)),
        ("mutect2_multiallelic_tumouronly_pVACtools", {}, 2, 0, ("S-01", 8, 48)),
        ("phylowgs_mutect_tcga", {}, 6, 0, ("TCGA-BJ-A191-01A-11D-A13W-08", 15, 3)),
        ("phylowgs_strelka", {}, 14, 2, ("phylowgs_strelka", 8, 10)),
        (
            "phylowgs_vardict",
            {"tumour_samples": ("c-tumor",), "all_filters": True},
            42,
            0,
            ("c-tumor", None, None),
        ),
        ("strelka2_somatic_snvs_varcode", {}, 2, 1, ("strelka2_somatic_snvs_varcode", 17, 11)),
        ("strelka_indels_varcode", {}, 20, 0, ("strelka_indels_varcode", 13, 78)),
        ("vcf2maf_test_muse", {}, 98, 336, ("vcf2maf_test_muse", 130, 12)),
        ("vcf2maf_test_mutect", {}, 5, 495, ("vcf2maf_test_mutect", None, None)),
        ("vcf2maf_test_radia", {}, 95, 0, ("vcf2maf_test_radia", 95, 11)),
        ("vcf2maf_test_sniper", {}, 107, 63, ("vcf2maf_test_sniper", 3, 4)),
        ("vcf2maf_test_strelka", {}, 240, 0, ("vcf2maf_test_strelka", 0, 57)),
        ("vcf2maf_test_varscan", {}, 31, 469, ("vcf2maf_test_varscan", None, None)),
    ],
)
def test_vcf(
    name: str, options: dict[str, object], rows: int, left_out: int, first: tuple[str, int | None, int | None]
) -> None:
    variants = read(data(f"vcf/{name}.vcf"), **options)
    assert (len(variants.table), len(variants.left_out)) == (rows, left_out)
    sample, _, *found = counts(variants)[0]
    assert sample == first[0]
    if first[1] is not None:
        assert tuple(found) == first[1:]


def test_varscan_left_out() -> None:
    (left_out,) = read(data("vcf/vcf2maf_test_varscan.vcf"), all_filters=True).left_out
    assert left_out.row == 110
    assert left_out.reason == "the allele 'A/T' is no sequence of bases"


def test_tumour_is_asked_for() -> None:
    with pytest.raises(InputError, match="Name it with `tumour_sample`; the file has 'c-tumor', 'c-normal'"):
        read(data("vcf/phylowgs_vardict.vcf"))


def test_pcgr() -> None:
    variants = read(data("pcgr/T001-BRCA.grch37.vcf.gz"))
    assert len(variants.table) == 196
    assert counts(variants)[0][1:] == ("1:1900265:C:T", 112, 32)


def test_maf() -> None:
    variants = read(data("maf/facetsSuite_test_maf.tsv"))
    assert len(variants.table) == 55
    assert counts(variants)[0] == ("TCGA-06-0154-01A-03D-1491-08", "1:16028798:G:A", 288, 76)
    assert variants.table["gene"].iat[0] == "CLCNKA"
    assert list(variants.builds.values()) == ["GRCh38"]


def test_maf_with_some_counts() -> None:
    """Two rows have no reads of the reference, but the depth."""
    variants = read(data("maf/vcf2maf_test_b38_output.maf"))
    assert len(variants.table) == 25
    assert variants.left_out == []
    assert variants.table[["ref_counts", "alt_counts"]].to_numpy()[0].tolist() == [33, 21]  # only t_depth, 54


def test_maf_without_counts() -> None:
    with pytest.raises(
        InputError, match="column t_ref_count: this column is missing; a MAF without the reads"
    ):
        read(data("maf/tcga_laml.maf.gz"))
