"""Tables that are right: formats, options, what is kept and what is left out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.read_counts.tables import count_summary, read_tables
from pyclone_pgsm.inputs.tumour_content import Uncertain

LONG = "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn"
PYCLONE = "mutation_id\tref_counts\tvar_counts\tnormal_cn\tminor_cn\tmajor_cn"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_table(header: str, *rows: str, name: str = "t.tsv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join([header, *rows]) + "\n")
        return path

    return write_table


def test_long_table(write: Any) -> None:
    path = write(
        LONG + "\ttumour_content\terror_rate",
        "m1\tS1\t10\t5\t3\t1\t2\t0.8\t0.01",
        "m2\tS2\t20\t6\t2\t2\t1\t0.5\t0.002",
        "m2\tS1\t30\t0\t1\t0\t2\t0.7\t0.001",
    )
    observations, left_out = read_tables([path])
    assert left_out == []
    assert observations.mutation_ids == ["m1", "m2"]
    assert observations.sample_ids == ["S1", "S2"]
    assert observations.has_data.tolist() == [[True, False], [True, True]]
    assert observations.ref_counts.tolist() == [[10, 0], [30, 20]]
    assert observations.alt_counts.tolist() == [[5, 0], [0, 6]]
    assert observations.depth.tolist() == [[15, 0], [30, 26]]
    assert observations.major_cn.tolist() == [[3, 1], [1, 2]]
    assert observations.minor_cn.tolist() == [[1, 1], [0, 2]]
    assert observations.normal_cn.tolist() == [[2, 2], [2, 1]]
    assert observations.tumour_content.tolist() == [[0.8, 1.0], [0.7, 0.5]]
    np.testing.assert_array_equal(observations.error_rate, [[0.01, np.nan], [0.001, 0.002]])
    for name in ("ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn"):
        assert getattr(observations, name).dtype == np.int64


def test_one_file_a_sample(write: Any) -> None:
    first = write(PYCLONE, "m1\t10\t5\t2\t1\t3", "m2\t20\t6\t1\t0\t1", name="primary.v2.tsv")
    second = write(PYCLONE.replace("\t", ","), "m2,7,8,2,1,1", name="relapse.CSV")
    third = write(PYCLONE, "m3\t1\t2\t2\t1\t1", name="metastasis")
    observations, _ = read_tables([first, str(second), third])
    assert observations.sample_ids == ["primary.v2", "relapse", "metastasis"]
    assert observations.mutation_ids == ["m1", "m2", "m3"]
    assert observations.alt_counts.tolist() == [[5, 0, 0], [6, 8, 0], [0, 0, 2]]
    assert observations.major_cn[0, 0] == 3
    assert observations.minor_cn[0, 0] == 1
    assert observations.normal_cn[1, 0] == 1
    assert (observations.tumour_content == 1.0).all()
    assert np.isnan(observations.error_rate).all()


def test_layouts_mixed(write: Any) -> None:
    long = write(LONG, "m1\tS1\t10\t5\t1\t1\t2", "m1\tS2\t10\t6\t1\t1\t2", name="long.tsv")
    more = write(LONG, "m2\tS2\t10\t7\t1\t1\t2", name="more.tsv")
    single = write(PYCLONE, "m2\t10\t8\t2\t1\t1", name="S1.txt")
    observations, _ = read_tables([long, more, single])
    assert observations.sample_ids == ["S1", "S2"]
    assert observations.alt_counts.tolist() == [[5, 6], [8, 7]]


def test_one_path_without_a_list(write: Any) -> None:
    path = write(LONG, "m1\tS1\t10\t5\t1\t1\t2")
    assert read_tables(str(path))[0].mutation_ids == read_tables(path)[0].mutation_ids == ["m1"]


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_way_to_write_a_table(
    tmp_path: Path, separator: str, line_end: str, mark: bytes, quote: str, name: str, packed: bool
) -> None:
    rows = [
        [" mutation_id", "sample_id ", " ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn", "x"],
        ["m1", "S1", " 10", "5 ", "1", "1", "2", ""],
        ["mü", "S1", "2.0", "1e1", "+1", "0.0", "2.", "why"],
    ]
    lines = [
        "# made by hand",
        *(separator.join(f"{quote}{field}{quote}" for field in row) for row in rows),
        "",
    ]
    content = mark + line_end.join(lines).encode() + (line_end * 3).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
    observations, _ = read_tables([path])
    assert observations.mutation_ids == ["m1", "mü"]
    assert observations.sample_ids == ["S1"]
    assert observations.ref_counts.tolist() == [[10], [2]]
    assert observations.alt_counts.tolist() == [[5], [10]]
    assert observations.minor_cn.tolist() == [[1], [0]]


def test_gzip_in_several_blocks(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv.gz"
    blocks = [LONG + "\nm1\tS1\t10", "\t5\t1\t1\t2\n", ""]
    path.write_bytes(b"".join(gzip.compress(block.encode(), mtime=0) for block in blocks))
    assert read_tables([path])[0].alt_counts.tolist() == [[5]]


def test_ids_are_text(write: Any) -> None:
    ids = ["001", "1", "1.0", "NA", "None", "nan", "1e5", "True", 'a "b"', "-", "#7"]
    path = write(LONG, *(f"{name}\t{name}\t10\t5\t1\t1\t2" for name in ids))
    observations, _ = read_tables([path])
    assert observations.mutation_ids == ids
    assert observations.sample_ids == ids


def test_space_around_ids_is_not_part_of_them(write: Any) -> None:
    path = write(LONG, "m1\tS1\t1\t1\t1\t1\t2", "m1 \t S2\t2\t2\t1\t1\t2", "m2\tS1 \t3\t3\t1\t1\t2")
    observations, _ = read_tables([path])
    assert observations.mutation_ids == ["m1", "m2"]
    assert observations.sample_ids == ["S1", "S2"]


def test_quoted_fields(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(LONG.replace("\t", ",") + '\n"chr1,""A""", "S;1",1,2,1,1,2\n')
    observations, _ = read_tables([path])
    assert observations.mutation_ids == ['chr1,"A"']
    assert observations.sample_ids == ["S;1"]


def test_quote_inside_a_field_of_a_tsv(write: Any) -> None:
    observations, _ = read_tables([write(LONG, "5'UTR 3\"\tS1\t1\t2\t1\t1\t2")])
    assert observations.mutation_ids == ["5'UTR 3\""]


def test_unused_columns_may_be_anything(write: Any) -> None:
    path = write(LONG + "\tx\tx\t\t", "m1\tS1\t10\t5\t1\t1\t2\tone\ttwo\t\t")
    assert read_tables([path])[0].num_mutations == 1


def test_same_variant_counts_twice(write: Any) -> None:
    path = write(LONG + "\tvar_counts", "m1\tS1\t10\t5\t1\t1\t2\t5.0")
    assert read_tables([path])[0].alt_counts.tolist() == [[5]]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (None, [[0.8, 0.6]]),
        (0.3, [[0.3, 0.3]]),
        ({"S2": 0.3}, [[0.8, 0.3]]),
        ({"S1": 1, "S2": 0.3}, [[1.0, 0.3]]),
        ({}, [[0.8, 0.6]]),
        (Uncertain(0.3, 0.1), [[0.3, 0.3]]),
        ({"S2": Uncertain(0.3, 0.1)}, [[0.8, 0.3]]),
    ],
)
def test_tumour_content_option_goes_before_the_column(write: Any, option: Any, expected: list) -> None:
    path = write(LONG + "\ttumour_content", "m1\tS1\t1\t1\t1\t1\t2\t0.8", "m1\tS2\t1\t1\t1\t1\t2\t0.6")
    assert read_tables([path], tumour_content=option)[0].tumour_content.tolist() == expected


def test_tumour_content_option_without_a_column(write: Any) -> None:
    path = write(LONG, "m1\tS1\t1\t1\t1\t1\t2", "m1\tS2\t1\t1\t1\t1\t2")
    assert read_tables([path], tumour_content={"S2": 0.3})[0].tumour_content.tolist() == [[1.0, 0.3]]
    assert read_tables([path], tumour_content=np.float64(0.3))[0].tumour_content.tolist() == [[0.3, 0.3]]


def test_overridden_columns_are_not_looked_at(write: Any) -> None:
    header = LONG + "\ttumour_content\terror_rate"
    path = write(header, "m1\tS1\t1\t1\t1\t1\t2\tNA\t0", "m1\tS2\t1\t1\t1\t1\t2\t0.6\t9")
    observations, _ = read_tables([path], tumour_content={"S1": 0.5}, error_rate=0.01)
    assert observations.tumour_content.tolist() == [[0.5, 0.6]]
    assert observations.error_rate.tolist() == [[0.01, 0.01]]


SECOND = LONG + "\tsubclonal_major_cn\tsubclonal_minor_cn\tsubclonal_fraction"


def test_subclonal_copy_number(write: Any) -> None:
    with_second = write(
        SECOND,
        "m1\tS1\t10\t5\t1\t1\t2\t2\t1\t0.3",
        "m1\tS2\t10\t5\t1\t1\t2\t\tNA\t.",
        "m2\tS1\t10\t5\t0\t0\t2\t1.0\t0\t0.25",
        "m2\tS2\t10\t5\t2\t1\t2\t0\t0\t5e-1",
        name="a.tsv",
    )
    without = write(LONG, "m3\tS1\t10\t5\t3\t1\t2", name="b.tsv")
    observations, left_out = read_tables([with_second, without])
    assert left_out == []
    assert observations.has_data.tolist() == [[True, True], [True, True], [True, False]]
    assert observations.subclonal_major_cn.tolist() == [[2, 0], [1, 0], [0, 0]]
    assert observations.subclonal_minor_cn.tolist() == [[1, 0], [0, 0], [0, 0]]
    assert observations.subclonal_fraction.tolist() == [[0.3, 0.0], [0.25, 0.5], [0.0, 0.0]]
    assert observations.subclonal_major_cn.dtype == np.int64
    assert observations.subclonal_fraction.dtype == np.float64
    assert count_summary(observations, left_out)[1:] == [
        "S1: 3 mutations with data, median depth 15, tumour content 1, 2 with subclonal copy number",
        "S2: 2 mutations with data, median depth 15, tumour content 1, 1 with subclonal copy number",
    ]


def test_without_subclonal_columns_there_is_one_state(write: Any) -> None:
    observations, _ = read_tables([write(LONG, "m1\tS1\t10\t5\t1\t1\t2")])
    assert observations.subclonal_major_cn.tolist() == [[0]]
    assert observations.subclonal_minor_cn.tolist() == [[0]]
    assert observations.subclonal_fraction.tolist() == [[0.0]]


def test_no_copy_in_either_state(write: Any) -> None:
    path = write(SECOND, "m1\tS1\t10\t5\t0\t0\t2\t0\t0\t0.3", "m2\tS1\t10\t5\t1\t1\t2\t\t\t")
    observations, left_out = read_tables([path])
    assert observations.mutation_ids == ["m2"]
    assert [item.mutation_id for item in left_out] == ["m1", "m1"]


def test_what_has_no_data(write: Any) -> None:
    path = write(
        LONG,
        "m1\tS1\t10\t5\t1\t1\t2",
        "m1\tS2\t0\t0\t1\t1\t2",
        "m2\tS1\t10\t5\t0\t0\t2",
        "m2\tS2\t10\t4\t2\t0\t2",
        "m3\tS1\t0\t0\t1\t1\t2",
        "m3\tS2\t3\t3\t0\t0\t2",
        "m4\tS2\t0\t0\t1\t1\t2",
        "m5\tS3\t0\t0\t0\t0\t2",
        "m6\tS2\t1\t0\t1\t1\t2",
    )
    observations, left_out = read_tables([path])
    assert observations.mutation_ids == ["m1", "m2", "m6"]
    assert observations.sample_ids == ["S1", "S2", "S3"]
    assert observations.has_data.tolist() == [
        [True, False, False],
        [False, True, False],
        [False, True, False],
    ]
    assert observations.alt_counts[:2].tolist() == [[5, 0, 0], [5, 4, 0]]
    cell = (
        "major_cn 0: a mutation cannot be modelled where the tumour has no copy of the locus; "
        "treated as no data in this sample"
    )
    file = str(path)
    assert left_out == [
        LeftOut(file, 4, "m2", "S1", cell),
        LeftOut(file, 7, "m3", "S2", cell),
        LeftOut(file, 9, "m5", "S3", cell),
        LeftOut(
            file,
            6,
            "m3",
            "",
            "no data in any sample: no reads or no copy of the locus in the tumour (major_cn 0)",
        ),
        LeftOut(file, 8, "m4", "", "no data in any sample: no reads"),
        LeftOut(file, 9, "m5", "", "no data in any sample: no copy of the locus in the tumour (major_cn 0)"),
        LeftOut(
            file,
            None,
            "",
            "S3",
            "no mutation has data in this sample: it is kept, but carries no information",
        ),
    ]
    assert count_summary(observations, left_out) == [
        "3 samples, 3 mutations, 3 of 9 mutation-sample pairs with data, 7 left out or changed",
        "S1: 1 mutation with data, median depth 15, tumour content 1",
        "S2: 2 mutations with data, median depth 7.5, tumour content 1",
        "S3: 0 mutations with data",
    ]


def test_left_out_names_the_file(write: Any) -> None:
    first = write(PYCLONE, "m1\t10\t5\t2\t1\t3", name="a.tsv")
    second = write(PYCLONE, "m1\t10\t5\t2\t0\t0", "m2\t0\t0\t2\t1\t1", name="b.tsv")
    _, left_out = read_tables([first, second])
    assert [item[:4] for item in left_out] == [
        (str(second), 2, "m1", "b"),
        (str(second), 3, "m2", ""),
        (str(second), None, "", "b"),
    ]


@pytest.mark.parametrize(("column", "copies"), [("minor_cn", "2"), ("major_cn", "0")])
def test_one_allele_alone_is_not_compared_with_the_other_if_neither_is_used(
    write: Any, column: str, copies: str
) -> None:
    path = write(f"mutation_id\tsample_id\tref_counts\talt_counts\t{column}", f"m1\tS1\t10\t5\t{copies}")
    assert read_tables([path], genotype_prior="ab")[0].mutation_ids == ["m1"]


@pytest.mark.parametrize("prior", ["ab", "bb", "no-zygosity"])
def test_priors_that_do_not_look_at_copy_numbers(write: Any, prior: str) -> None:
    path = write(LONG, "m1\tS1\t10\t5\t0\t0\t2")
    observations, left_out = read_tables([path], genotype_prior=prior)
    assert observations.has_data.tolist() == [[True]]
    assert left_out == []


def test_without_copy_numbers(write: Any) -> None:
    path = write("mutation_id\tsample_id\tref_counts\talt_counts", "m1\tS1\t10\t5")
    observations, left_out = read_tables([path], genotype_prior="ab")
    assert [
        each.item() for each in (observations.major_cn, observations.minor_cn, observations.normal_cn)
    ] == [1, 1, 2]
    assert left_out == []


def test_total_copy_number_alone(write: Any) -> None:
    header = "mutation_id\tsample_id\tref_counts\talt_counts\ttotal_cn\tnormal_cn"
    path = write(header, "m1\tS1\t10\t5\t4\t2", "m2\tS1\t10\t5\t0\t2")
    observations, left_out = read_tables([path], genotype_prior="total")
    assert observations.major_cn.tolist() == [[4]]
    assert observations.minor_cn.tolist() == [[0]]
    assert left_out[0].reason.startswith("total_cn 0: a mutation cannot be modelled")


def test_major_and_minor_go_before_the_total(write: Any) -> None:
    path = write(LONG + "\ttotal_cn", "m1\tS1\t10\t5\t3\t1\t2\t4")
    observations, _ = read_tables([path], genotype_prior="total")
    assert (observations.major_cn[0, 0], observations.minor_cn[0, 0]) == (3, 1)


def test_a_total_that_contradicts_the_alleles(write: Any) -> None:
    path = write(LONG + "\ttotal_cn", "m1\tS1\t10\t5\t3\t1\t2\t4", "m2\tS1\t10\t5\t3\t1\t2\t9")
    with pytest.raises(InputError) as caught:
        read_tables([path], genotype_prior="total")
    message = "row 3, column total_cn: '9': major_cn and minor_cn are 3 and 1; expected their sum, 4"
    assert str(caught.value) == f"{path}, {message}"
    assert read_tables([path], genotype_prior="major")[0].num_mutations == 2


def test_annotations(write: Any) -> None:
    first = write(
        LONG + "\tChromosome\tstart\tRef\tHugo_Symbol\talt",
        "m1\tS1\t10\t5\t1\t1\t2\tchrX\t007\tA\tNA\t",
        "m1\tS2\t10\t5\t1\t1\t2\tchrY\t8\tC\t TP53 \t",
        "m0\tS2\t0\t0\t1\t1\t2\tchrY\t8\tC\tKRAS\t",
        name="a.tsv",
    )
    second = write(LONG + "\tgene", "m2\tS1\t1\t1\t1\t1\t2\tMYC", "m1\tS3\t1\t1\t1\t1\t2\tMYC", name="b.tsv")
    observations, _ = read_tables([first, second])
    assert observations.mutation_ids == ["m1", "m2"]
    assert observations.annotations == {
        "chrom": ["chrX", ""],
        "pos": ["007", ""],
        "ref": ["A", ""],
        "gene": ["TP53", "MYC"],
    }


def test_annotation_on_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(LONG + '\tgene\nm1\tS1\t1\t1\t1\t1\t2\t"a\n\tb"\n')
    assert read_tables([path])[0].annotations == {"gene": ["a b"]}


def test_summary_of_varying_tumour_content(write: Any) -> None:
    path = write(LONG + "\ttumour_content", "m1\tS1\t9\t5\t1\t1\t2\t0.8", "m2\tS1\t1\t1\t1\t1\t2\t0.6")
    assert count_summary(*read_tables([path])) == [
        "1 sample, 2 mutations, 2 of 2 mutation-sample pairs with data, 0 left out or changed",
        "S1: 2 mutations with data, median depth 8, tumour content 0.6 to 0.8",
    ]
    content = Uncertain(0.7, 0.05)
    assert count_summary(*read_tables([path], tumour_content=content), content)[1].endswith(
        "tumour content 0.7±0.05"
    )


@pytest.mark.parametrize("name", ["S1.tsv", "S1.csv.gz", "S1.TSV.bgz"])
def test_a_sample_is_named_after_its_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("mutation_id\tref_counts\tvar_counts\tnormal_cn\tminor_cn\tmajor_cn\nm\t9\t1\t2\t1\t1\n")
    assert read_tables([path])[0].sample_ids == ["S1"]


def test_an_unknown_genotype_prior_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(
        "mutation_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\nm\t9\t1\t1\t1\n"
    )
    with pytest.raises(UsageError, match="`genotype_prior` 'majr': must be one of major, parental"):
        read_tables(tmp_path / "a.tsv", genotype_prior="majr")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e+05", 100_000), ("1.2e+07", 12_000_000), ("1.2E3", 1200), ("1.234E+03", 1234), ("5.0000E+02", 500),
        ("1E+00", 1), ("1.000000000000000000e+02", 100),
    ],
)  # fmt: skip
def test_exponents_that_lose_no_digits(text: str, number: int, tmp_path: Path) -> None:
    """As R, Java, C and numpy write them."""
    path = tmp_path / "t.tsv"
    path.write_text(
        f"mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn\nm\tS\t{text}\t5\t1\t1\t2\n"
    )
    assert read_tables(path)[0].ref_counts.tolist() == [[number]]
