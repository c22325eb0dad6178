"""Each format: its columns, types and the rules of its reader; and that nothing is dropped without a word."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_runs import run, tumour
from typer.testing import CliRunner

from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.cli import handover
from pyclone_pgsm.errors import InputError, OutputError, UsageError
from pyclone_pgsm.exports import FORMATS, Answer, ExportOptions, export
from pyclone_pgsm.exports.answer import complete
from pyclone_pgsm.exports.maf import copy_number_calls
from pyclone_pgsm.exports.source import Mutations
from pyclone_pgsm.inputs.observations import PLACEHOLDERS, Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.opening import open_trace
from pyclone_pgsm.results import Result
from pyclone_pgsm.scoring.truth import score
from pyclone_pgsm.tumour.options import ModelOptions

BASES = "ACGT"


def places() -> dict[str, list[str]]:
    return {
        "chrom": ["chr1" if t % 2 else "X" for t in range(40)],
        "pos": [str(1000 + t) for t in range(40)],
        "ref": [BASES[t % 4] for t in range(40)],
        "alt": [BASES[(t + 1) % 4] for t in range(40)],
        "gene": [f"GENE{t}" if t % 3 else "" for t in range(40)],
    }


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A tumour with missing data, copy-number changes, alleles, and an artefact that fits no cluster."""
    data = tumour()
    alt, ref = data.alt_counts.copy(), data.ref_counts.copy()
    alt[0], ref[0] = [0, 100], [100, 0]
    has = data.has_data.copy()
    has[0] = True
    data = replace(data, alt_counts=alt, ref_counts=ref, has_data=has, annotations=places())
    path = tmp_path_factory.mktemp("exports") / "trace.h5"
    run(path, observations=data, model=ModelOptions(precision=200.0, outlier_prob=0.05))
    found = open_trace(path)
    assert found.summary.labels[0] == -1  # type: ignore[union-attr]
    assert (found.summary.labels >= 0).sum() > 30
    return found


def read(path: Path, **options: object) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", **options)


def placed(result: Result) -> np.ndarray:
    return np.flatnonzero(result.summary.labels >= 0)


def says(notes: list[str], *words: str) -> bool:
    return any(all(word in note for word in words) for note in notes)


def test_the_help_names_every_format() -> None:
    assert handover.FORMAT_NAMES.split(", ") == list(FORMATS)


def test_pyclone(result: Result, tmp_path: Path) -> None:
    notes = result.export("pyclone", tmp_path / "o")
    loci, clusters = read(tmp_path / "o" / "loci.tsv"), read(tmp_path / "o" / "cluster.tsv")
    assert list(loci) == [
        "mutation_id",
        "sample_id",
        "cluster_id",
        "cellular_prevalence",
        "cellular_prevalence_std",
        "variant_allele_frequency",
    ]
    assert list(clusters) == ["sample_id", "cluster_id", "size", "mean", "std"]
    assert len(loci) == 2 * len(placed(result))
    assert says(notes, "outlier", "left out")
    assert says(notes, "without data", "no allele frequency")
    sizes = loci.groupby(["sample_id", "cluster_id"]).size()
    expected = clusters.set_index(["sample_id", "cluster_id"])["size"]
    assert (sizes.sort_index() == expected.sort_index()).all()


@pytest.mark.parametrize("format", ["pyclone-vi", "ctree", "revolver", "clonevol", "citup"])
def test_what_formats_of_clusters_do_not_tell(result: Result, format: str, tmp_path: Path) -> None:
    notes = result.export(format, tmp_path / "o")
    assert says(notes, "outlier", "left out")
    assert says(notes, "without data", "prevalence of the cluster")
    assert says(notes, "intervals", "no place")


def test_pyclone_vi(result: Result, tmp_path: Path) -> None:
    result.export("pyclone-vi", tmp_path / "o.tsv")
    table = read(tmp_path / "o.tsv")
    assert list(table) == [
        "mutation_id",
        "sample_id",
        "cluster_id",
        "cellular_prevalence",
        "cellular_prevalence_std",
        "cluster_assignment_prob",
    ]
    assert (table.groupby(["cluster_id", "sample_id"])["cellular_prevalence"].nunique() == 1).all()
    assert table["cluster_id"].dtype == np.int64


def test_phyclone(result: Result, tmp_path: Path) -> None:
    notes = result.export("phyclone", tmp_path / "o")
    reads, clusters = read(tmp_path / "o" / "input.tsv"), read(tmp_path / "o" / "clusters.tsv")
    assert list(reads)[:9] == [
        "mutation_id",
        "sample_id",
        "ref_counts",
        "alt_counts",
        "major_cn",
        "minor_cn",
        "normal_cn",
        "tumour_content",
        "error_rate",
    ]
    assert list(clusters) == [
        "mutation_id",
        "cluster_id",
        "sample_id",
        "cellular_prevalence",
        "chrom",
        "outlier_prob",
    ]
    assert len(reads) == len(clusters) == 80  # each mutation in each sample, or PhyClone drops it
    assert reads.notna().all().all()
    assert (reads["major_cn"] >= 1).all()
    assert reads["error_rate"].between(0, 0.5, inclusive="neither").all()
    assert (clusters.groupby("mutation_id")["cluster_id"].nunique() == 1).all()
    alone = clusters[clusters["mutation_id"] == result.summary.mutation_ids[0]]
    assert (alone["cluster_id"] >= result.summary.num_clusters).all()
    assert (alone["outlier_prob"] > 0.5).all()
    assert says(notes, "outlier", "of its own")
    assert says(notes, "without data", "0 reads")


def test_phyclone_refuses_fractions_without_a_point(result: Result, tmp_path: Path) -> None:
    data = tumour()
    data = replace(data, tumour_content=np.ones(data.has_data.shape), annotations=places())
    summary = replace(result.summary, outlier_prob=None)
    export(Answer(complete(data, {}), summary), FORMATS["phyclone"], tmp_path, ExportOptions())
    fractions = {"input.tsv": ["tumour_content", "error_rate"], "clusters.tsv": ["outlier_prob"]}
    for name, columns in fractions.items():
        assert (read(tmp_path / name)[columns].dtypes == np.float64).all()


def test_phyclone_takes_the_outlier_prob_of_one_mutation_for_its_cluster(
    result: Result, tmp_path: Path
) -> None:
    result.export("phyclone", tmp_path)
    table = read(tmp_path / "clusters.tsv")
    assert (table.groupby("cluster_id")["outlier_prob"].nunique() == 1).all()
    found, summary = table.groupby("cluster_id")["outlier_prob"].first(), result.summary
    assert found[0] == pytest.approx(summary.outlier_prob[summary.labels == 0].mean(), rel=1e-5)


def test_metient_needs_names_of_sites_that_are_not_all_numbers(result: Result, tmp_path: Path) -> None:
    data = replace(tumour(), sample_ids=["1", "2.5"], annotations=places())
    options = ExportOptions(primary="1")
    notes = export(Answer(complete(data, {}), result.summary), FORMATS["metient"], tmp_path / "o", options)
    table = read(tmp_path / "o")
    assert list(table["anatomical_site_label"].unique()) == ["site_1", "site_2.5"]
    assert set(table.loc[table["site_category"] == "primary", "anatomical_site_label"]) == {"site_1"}
    assert says(notes, "site_")


def test_pairtree(result: Result, tmp_path: Path) -> None:
    """The rules of Pairtree's own reader: vectors as long as the samples, shares from 0 to 1, each variant once."""
    notes = result.export("pairtree", tmp_path / "o")
    with open(tmp_path / "o" / "tumour.ssm") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    params = json.loads((tmp_path / "o" / "tumour.params.json").read_text())
    assert list(rows[0]) == ["id", "name", "var_reads", "total_reads", "var_read_prob"]
    assert [row["id"] for row in rows] == [f"s{t}" for t in range(40)]
    for row in rows:
        var, total = (np.array(row[name].split(","), int) for name in ("var_reads", "total_reads"))
        share = np.array(row["var_read_prob"].split(","), float)
        assert len(var) == len(total) == len(share) == len(params["samples"]) == 2
        assert (total >= var).all()
        assert ((share > 0) & (share <= 1)).all()
    named = [name for cluster in params["clusters"] for name in cluster] + params["garbage"]
    assert sorted(named) == sorted(row["id"] for row in rows)
    assert "s0" in params["garbage"]
    assert all(params["clusters"])
    assert says(notes, "garbage")


def test_variant_share_of_diploid_and_gained_loci(result: Result) -> None:
    data = replace(
        tumour(),
        major_cn=np.full((40, 2), 1),
        minor_cn=np.full((40, 2), 1),
        normal_cn=np.full((40, 2), 2),
        tumour_content=np.full((40, 2), 0.5),
    )
    summary = replace(result.summary, multiplicity=np.full((40, 2), 1))  # type: ignore[type-var]
    assert np.allclose(Answer(data, summary).variant_share, 0.5)
    gained = replace(data, major_cn=np.full((40, 2), 3))
    assert np.allclose(
        Answer(gained, summary).variant_share, 1 / 3
    )  # 4 copies in half of the cells, 2 in the others
    split = replace(
        data,
        subclonal_fraction=np.full((40, 2), 0.5),
        subclonal_major_cn=np.full((40, 2), 3),
        subclonal_minor_cn=np.full((40, 2), 1),
    )
    assert np.allclose(split.mean_copies, 2.5)
    unused = Answer(split, summary, genotype_prior="ab")  # for which every locus is diploid
    assert np.allclose(unused.variant_share, 0.5)
    assert np.allclose(unused.copies_seen, Answer(data, summary).copies_seen)


def test_mutant_copies_of_two_states(result: Result, tmp_path: Path) -> None:
    """Of 60 % of the cells that have the mutation half have gained a second copy of it: 30 % of all."""
    shape = (40, 2)
    states = {"major_cn": 1, "minor_cn": 1, "subclonal_major_cn": 2, "subclonal_minor_cn": 1, "normal_cn": 2}
    columns = {name: np.full(shape, value) for name, value in states.items()}
    columns |= {"subclonal_fraction": np.full(shape, 0.3), "tumour_content": np.full(shape, 1.0)}
    columns |= {"alt_counts": np.full(shape, 3913), "ref_counts": np.full(shape, 6087)}  # 0.9 of 2.3 copies
    data = complete(replace(tumour(), has_data=np.ones(shape, bool), **columns), {})
    clusters = np.full(result.summary.cluster_mean.shape, 0.6)
    summary = replace(result.summary, multiplicity=np.full(shape, 2), cluster_mean=clusters)  # type: ignore[type-var]
    answer = Answer(data, summary)
    rows = placed(result)
    np.testing.assert_allclose(answer.mutant_copies[rows], 1.5, rtol=1e-9)
    np.testing.assert_allclose(answer.variant_share[rows], 1.5 / 2.3, rtol=1e-9)
    notes = export(answer, FORMATS["clonevol"], tmp_path / "o", ExportOptions())
    assert says(notes, "80 rows with subclonal copy number", "mean of the cells with the mutation")
    np.testing.assert_allclose(read(tmp_path / "o").iloc[:, 3:], 60.0, rtol=1e-3)
    unused = Answer(data, summary, genotype_prior="ab")
    np.testing.assert_array_equal(unused.mutant_copies, 2)


def test_conipher(result: Result, tmp_path: Path) -> None:
    notes = result.export("conipher", tmp_path / "o.tsv", patient="P1")
    table = read(tmp_path / "o.tsv", dtype={"CHR": str})
    assert " ".join(table) == (
        "CASE_ID SAMPLE CHR POS REF ALT REF_COUNT VAR_COUNT DEPTH CLUSTER CCF_PHYLO CCF_OBS MUT_COPY COPY_NUMBER_A "
        "COPY_NUMBER_B ACF PLOIDY"
    )
    assert table["SAMPLE"].str.startswith("P1").all()
    assert set(table["CLUSTER"]) == set(range(1, result.summary.num_clusters + 1))
    for name in ("POS", "REF_COUNT", "VAR_COUNT", "DEPTH", "CLUSTER", "COPY_NUMBER_A", "COPY_NUMBER_B"):
        assert table[name].dtype == np.int64
    assert (table["DEPTH"] == table["REF_COUNT"] + table["VAR_COUNT"]).all()
    assert table.notna().all().all()
    assert says(notes, "P1_..")
    seen = table[table["DEPTH"] > 0]
    normal = tumour().normal_cn[placed(result)].ravel()[(table["DEPTH"] > 0).to_numpy()]
    total = seen["COPY_NUMBER_A"] + seen["COPY_NUMBER_B"]
    copies = seen["ACF"] * total + (1 - seen["ACF"]) * normal
    assert np.allclose(seen["MUT_COPY"], seen["VAR_COUNT"] / seen["DEPTH"] * copies / seen["ACF"], rtol=1e-4)
    assert (seen["MUT_COPY"] >= seen["CCF_OBS"] - 1e-6).all()


@pytest.mark.parametrize(
    ("samples", "written"),
    [(["A", "P1_A"], ["P1_A", "P1_P1_A"]), (["P1_B", "P1A"], ["P1_B", "P1A"])],
)
def test_conipher_names_no_two_samples_alike(
    result: Result, samples: list[str], written: list[str], tmp_path: Path
) -> None:
    answer = Answer(replace(complete(tumour(), {}), sample_ids=samples), result.summary)
    export(answer, FORMATS["conipher"], tmp_path / "o.tsv", ExportOptions(patient="P1"))
    assert list(read(tmp_path / "o.tsv")["SAMPLE"][:2]) == written


def test_values_where_there_are_no_data(result: Result, tmp_path: Path) -> None:
    """Placeholders of the observations do not reach a format; the number of rows without data is told."""
    has_data = np.ones((40, 2), bool)
    has_data[3:7, 0] = has_data[8, 1] = False
    known = {"major_cn": 3, "minor_cn": 2, "normal_cn": 2, "tumour_content": [0.85, 0.7], "error_rate": 0.01}
    own = {name: np.where(has_data, known[name], PLACEHOLDERS[name]) for name in known}
    with result._trace() as trace:
        data = complete(replace(trace.observations, has_data=has_data, **own), {})
    summary = replace(result.summary, multiplicity=has_data.astype(int))  # type: ignore[type-var]
    answer = Answer(data, summary)
    for name, out in (("phyclone", tmp_path), ("conipher", tmp_path / "conipher.tsv")):
        notes = export(answer, FORMATS[name], out, ExportOptions())
        assert says(notes, "5 mutations without data in a sample: 0 reads, one copy of each allele")
    reads = read(tmp_path / "input.tsv")
    assert (reads.groupby("sample_id")[["tumour_content", "error_rate"]].nunique() == 1).all(axis=None)
    assert reads["tumour_content"].tolist() == [0.85, 0.7] * 40
    assert reads[["major_cn", "minor_cn"]].drop_duplicates().to_numpy().tolist() == [[3, 2], [1, 1]]
    table = read(tmp_path / "conipher.tsv")
    assert set(table["ACF"]) == {0.85, 0.7}
    assert set(table["PLOIDY"]) == {5.0}

    source = maf(result, tmp_path / "in.maf")
    notes = export(answer, FORMATS["cbioportal"], tmp_path / "out.maf", ExportOptions(source=source))
    assert says(notes, "5 mutations without data in a sample: copies NA")
    rows = read(tmp_path / "out.maf", comment="#", dtype=str, keep_default_na=False)
    rows = rows[rows["ASCN.CLONAL"] != "NA"]
    copies = ["TOTAL_COPY_NUMBER", "MINOR_COPY_NUMBER", "EXPECTED_ALT_COPIES", "ASCN_INTEGER_COPY_NUMBER"]
    for number, without in zip(["5", "2", "1", "2"], copies):
        assert (rows[f"ASCN.{without}"] == np.where(has_data.ravel(), number, "NA")).all()


def test_calls_of_copy_numbers() -> None:
    """The colours of cBioPortal's page: blue -2 and -1, none for 0, red 1 and 2; beside normal cells."""
    total = np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, np.nan], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, np.nan]])
    normal = np.array([[2] * 7, [1] * 7])
    expected = [[-2, -1, 0, 1, 1, 2, np.nan], [-2, 0, 1, 2, 2, 2, np.nan]]
    np.testing.assert_array_equal(copy_number_calls(total, normal), expected)


def test_more_mutant_copies_than_a_cell_has_on_average(result: Result, tmp_path: Path) -> None:
    """Three mutant copies in a tenth of the cells: the frequency is still that of the cells."""
    shape = (40, 2)
    own = {"major_cn": 3, "minor_cn": 0, "normal_cn": 2, "tumour_content": 0.1, "subclonal_fraction": 0.0}
    with result._trace() as trace:
        data = replace(trace.observations, **{name: np.full(shape, value) for name, value in own.items()})
    data = replace(data, ref_counts=np.full(shape, 900), alt_counts=np.full(shape, 143))
    answer = Answer(data, replace(result.summary, multiplicity=np.full(shape, 3)))  # type: ignore[type-var]
    notes = export(answer, FORMATS["pairtree"], tmp_path / "o", ExportOptions())
    assert says(notes, "78 mutation-sample pairs with more mutant copies than a cell has on average")
    total = round(1043 * 3 / 2.1)
    first = read(tmp_path / "o" / "tumour.ssm").iloc[0]
    assert first[["var_reads", "total_reads", "var_read_prob"]].tolist() == [
        "143,143",
        f"{total},{total}",
        "1,1",
    ]
    export(answer, FORMATS["metient"], tmp_path / "m", ExportOptions(primary=data.sample_ids[0]))
    row = read(tmp_path / "m").iloc[0]
    assert (row["ref"], row["var"], row["var_read_prob"]) == (total - 143, 143, 1.0)


def test_a_first_state_without_copies(result: Result, tmp_path: Path) -> None:
    """A mutation cannot be in its cells, so the copies are those of the second state."""
    full = {"major_cn": 0, "minor_cn": 0, "subclonal_major_cn": 3, "subclonal_minor_cn": 1}
    own = {name: np.full((40, 2), value) for name, value in full.items()}
    data = replace(tumour(), annotations=places(), subclonal_fraction=np.full((40, 2), 0.4), **own)
    answer = Answer(data, result.summary)
    columns = {"conipher": ["COPY_NUMBER_A", "COPY_NUMBER_B"], "phyclone": ["major_cn", "minor_cn"]}
    for name, pair in columns.items():
        out = tmp_path / name
        notes = export(answer, FORMATS[name], out, ExportOptions())
        assert says(notes, "80 rows with subclonal copy number", "the other where this one has no copies")
        table = read(out / "input.tsv" if out.is_dir() else out)
        assert table[pair].drop_duplicates().to_numpy().tolist() == [[3, 1]]


@pytest.mark.parametrize(("fraction", "pair"), [(0.4, [2, 1]), (0.7, [3, 0])])
def test_copies_are_those_of_most_tumour_cells(result: Result, fraction: float, pair: list[int]) -> None:
    states = {"major_cn": 2, "minor_cn": 1, "subclonal_major_cn": 3, "subclonal_minor_cn": 0}
    own = {name: np.full((40, 2), value) for name, value in states.items()}
    data = replace(tumour(), subclonal_fraction=np.full((40, 2), fraction), **own)
    major, minor = Answer(data, result.summary).copies
    assert (major == pair[0]).all()
    assert (minor == pair[1]).all()


def test_a_sample_without_any_data(result: Result, tmp_path: Path) -> None:
    data = replace(tumour(), has_data=np.array([[True, False]] * 40), annotations=places())
    export(Answer(complete(data, {}), result.summary), FORMATS["conipher"], tmp_path / "o", ExportOptions())
    assert (read(tmp_path / "o").groupby("SAMPLE")["PLOIDY"].first().iloc[1]) == 2.0


@pytest.fixture(scope="module")
def inferred(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run with totals only, which infers the error rate and the tumour content of a sample."""
    data = tumour()
    contents = {data.sample_ids[0]: Uncertain(0.6, 0.05)}
    model = ModelOptions(precision=200.0, genotype_prior="total", tumour_content=contents)
    data = replace(data, error_rate=np.full((40, 2), np.nan), annotations=places())
    path = tmp_path_factory.mktemp("inferred") / "trace.h5"
    return open_trace(run(path, observations=data, model=model))


def test_inferred_values_are_passed_on(inferred: Result, tmp_path: Path) -> None:
    notes = inferred.export("phyclone", tmp_path)
    first, second = inferred.summary.sample_ids
    found = inferred.diagnostics.set_index("name")["mean"]
    content, rate = found[f"tumour_content:{first}"], found["error_rate"]
    table = read(tmp_path / "input.tsv").groupby("sample_id")
    assert table["tumour_content"].unique()[first] == pytest.approx([content], rel=1e-5)
    assert table["tumour_content"].unique()[second] == tumour().tumour_content[0, 1]
    assert table["error_rate"].unique()[second] == pytest.approx([rate], rel=1e-5)
    assert f"tumour_content of {first} is the inferred one, {content:.4g}" in notes
    assert f"error_rate is the inferred one, {rate:.4g}" in notes
    for format, given in (("pairtree", {}), ("metient", {"primary": first}), ("conipher", {})):
        out = tmp_path / format
        notes = inferred.export(format, out, **given)  # type: ignore[arg-type]
        assert [note for note in notes if "inferred" in note] == [
            f"tumour_content of {first} is the inferred one, {content:.4g}"
        ]


def test_unknown_alleles(result: Result, inferred: Result, tmp_path: Path) -> None:
    for format in ("phyclone", "conipher"):
        assert says(inferred.export(format, tmp_path / format), "alleles unknown", "with 0 minor ones")
        assert not says(result.export(format, tmp_path / f"known {format}"), "alleles")
    notes = inferred.export("cbioportal", tmp_path / "out.maf", source=maf(inferred, tmp_path / "in.maf"))
    assert says(notes, "minor copies are NA", "alleles unknown")
    rows = read(tmp_path / "out.maf", comment="#", dtype=str, keep_default_na=False)
    assert set(rows["ASCN.MINOR_COPY_NUMBER"]) == {"NA"}
    assert set(rows["ASCN.TOTAL_COPY_NUMBER"]) > {"NA"}


def test_copy_numbers_that_the_model_did_not_use(tmp_path: Path) -> None:
    observations = replace(tumour(), annotations=places())
    path = run(tmp_path / "t.h5", observations=observations, model=ModelOptions(genotype_prior="ab"))
    found, source = open_trace(path), maf(open_trace(path), tmp_path / "in.maf")
    for format, given in (("phyclone", {}), ("conipher", {}), ("cbioportal", {"source": source})):
        notes = found.export(format, tmp_path / f"of {format}", **given)  # type: ignore[arg-type]
        assert says(notes, "ab uses no copy numbers", "or 1 copy of each allele")


def test_conipher_needs_places(tmp_path: Path) -> None:
    bare = open_trace(
        run(tmp_path / "t.h5", observations=replace(tumour(), annotations={}), iterations=20, burn_in=10)
    )
    with pytest.raises(UsageError, match="conipher: needs the place of each mutation, and the column chrom"):
        bare.export("conipher", tmp_path / "o.tsv")
    assert not (tmp_path / "o.tsv").exists()


def test_ctree(result: Result, tmp_path: Path) -> None:
    notes = result.export("ctree", tmp_path / "o.tsv", patient="P1", drivers=["GENE1", "NOWHERE"])
    table = read(tmp_path / "o.tsv")
    assert list(table) == [
        "patientID",
        "sample_id",
        "variantID",
        "cluster",
        "nMuts",
        "is.driver",
        "is.clonal",
        "CCF",
    ]
    assert table["is.driver"].dtype == table["is.clonal"].dtype == bool
    assert table[table["is.driver"]]["variantID"].nunique() == 1
    assert (table.groupby("cluster")["is.clonal"].nunique() == 1).all()
    assert table[table["is.clonal"]]["cluster"].nunique() <= 1
    assert (
        table.groupby("cluster")["variantID"].nunique() == table.groupby("cluster")["nMuts"].first()
    ).all()
    assert says(notes, "NOWHERE")


def test_revolver(result: Result, tmp_path: Path) -> None:
    notes = result.export("revolver", tmp_path / "o.tsv")
    table = read(tmp_path / "o.tsv")
    assert list(table) == ["Misc", "patientID", "variantID", "cluster", "is.driver", "is.clonal", "CCF"]
    samples = result.summary.sample_ids
    for t, text in zip(placed(result), table["CCF"]):
        pairs = [each.split(":") for each in text.split(";")]
        assert [name for name, _ in pairs] == samples
        expected = result.summary.cluster_mean[result.summary.labels[t]]
        assert np.allclose([float(value) for _, value in pairs], expected, rtol=1e-5)
    assert says(notes, "name drivers with `drivers`")


@pytest.mark.parametrize("format", ["ctree", "revolver"])
def test_drivers_that_are_outliers_are_named(result: Result, format: str, tmp_path: Path) -> None:
    """They are not in the table, so that the driver could seem not to be mutated."""
    outlier, other = result.summary.mutation_ids[0], result.summary.mutation_ids[placed(result)[0]]
    notes = result.export(format, tmp_path / "o.tsv", drivers=[outlier, other])
    assert f"1 driver of `drivers` left out with the outliers: {outlier}" in notes
    assert not says(notes, other)


def test_samples_that_revolver_would_mix_up(result: Result, tmp_path: Path) -> None:
    answer = Answer(replace(complete(tumour(), {}), sample_ids=["a:1", "a;1"]), result.summary)
    with pytest.raises(UsageError, match=r"samples by ':' and ';', and some names differ in these only"):
        export(answer, FORMATS["revolver"], tmp_path / "o.tsv", ExportOptions())
    assert not (tmp_path / "o.tsv").exists()


def test_clonevol(result: Result, tmp_path: Path) -> None:
    result.export("clonevol", tmp_path / "o.tsv")
    table = read(tmp_path / "o.tsv")
    assert list(table) == ["cluster", "mutation_id", "gene", *result.summary.sample_ids]
    assert sorted(set(table["cluster"])) == list(range(1, result.summary.num_clusters + 1))
    found = table.set_index("mutation_id")[result.summary.sample_ids]
    result.export("phyclone", tmp_path / "reads")
    reads = read(tmp_path / "reads" / "input.tsv").merge(result.mutations, on=["mutation_id", "sample_id"])
    of_clusters = result.clusters.set_index(["cluster_id", "sample_id"])["cellular_prevalence"]
    assert (reads["multiplicity"] > 1).any()
    assert reads["multiplicity"].isna().any()
    for row in reads[reads["cluster_id"] >= 0].itertuples():
        expected = of_clusters[row.cluster_id, row.sample_id]
        if row.ref_counts + row.alt_counts > 0:
            t = row.tumour_content
            copies = t * (row.major_cn + row.minor_cn) + (1 - t) * row.normal_cn
            expected = row.variant_allele_frequency * copies / (t * row.multiplicity)
        assert found.loc[row.mutation_id, row.sample_id] == pytest.approx(100 * expected, rel=1e-4)


def test_the_trunk_is_the_founding_clone_of_clonevol(result: Result, tmp_path: Path) -> None:
    """Or, without a trunk, the cluster with the largest mean prevalence; the other clusters keep their order."""
    answer = Answer(complete(tumour(), {}), result.summary)
    clonal = np.zeros_like(result.summary.cluster_prob_clonal)
    for trunk in (None, 1):
        if trunk is not None:
            clonal[trunk] = 1.0
        changed = replace(answer, summary=replace(result.summary, cluster_prob_clonal=clonal))
        path = tmp_path / f"{trunk}.tsv"
        notes = export(changed, FORMATS["clonevol"], path, ExportOptions())
        order = [*range(result.summary.num_clusters)]
        if trunk is not None:
            order.insert(0, order.pop(trunk))
        numbers = zip(result.summary.mutation_ids, result.summary.labels.tolist())
        expected = {name: order.index(k) + 1 for name, k in numbers if k >= 0}
        assert read(path).set_index("mutation_id")["cluster"].to_dict() == expected
        (said,) = [note for note in notes if "founding clone" in note]
        assert f"is cluster {order[0]} of the result" in said
        assert said.endswith("its trunk") == (trunk is not None)


def test_citup(result: Result, tmp_path: Path) -> None:
    result.export("citup", tmp_path / "o")
    values, clusters = (
        np.loadtxt(tmp_path / "o" / "freq.txt"),
        np.loadtxt(tmp_path / "o" / "clusters.txt", int),
    )
    assert values.shape == (len(placed(result)), 2)
    assert set(clusters) == set(range(result.summary.num_clusters))
    assert np.allclose(values, result.summary.cluster_mean[clusters], rtol=1e-5)


def test_metient(result: Result, tmp_path: Path) -> None:
    """The checks of the package's own reader: indices from 0 without gaps, one label each, known categories."""
    with pytest.raises(UsageError, match="which sample is the primary tumour"):
        result.export("metient", tmp_path / "o.tsv")
    with pytest.raises(UsageError, match="`primary` 'S9': the samples are"):
        result.export("metient", tmp_path / "o.tsv", primary="S9")
    first = result.summary.sample_ids[0]
    notes = result.export("metient", tmp_path / "o.tsv", primary=first)
    table = read(tmp_path / "o.tsv")
    assert list(table) == [
        "anatomical_site_index",
        "anatomical_site_label",
        "cluster_index",
        "character_index",
        "character_label",
        "ref",
        "var",
        "var_read_prob",
        "site_category",
    ]
    assert set(table["site_category"]) == {"primary", "metastasis"}
    assert set(table[table["site_category"] == "primary"]["anatomical_site_label"]) == {first}
    for index, label in (
        ("anatomical_site_index", "anatomical_site_label"),
        ("character_index", "character_label"),
    ):
        assert table[index].dtype == np.int64
        assert set(table[index]) == set(range(table[index].nunique()))
        assert (table.groupby(index)[label].nunique() == 1).all()
        assert (table.groupby(label)[index].nunique() == 1).all()
    assert set(table["cluster_index"]) == set(range(result.summary.num_clusters))
    assert table["var_read_prob"].between(0, 1).all()
    assert not table["character_label"].str.contains(":").any()
    assert says(notes, "outlier")


def test_metient_of_one_sample(tmp_path: Path) -> None:
    one = Observations(
        **{
            name: values[:, :1] if isinstance(values, np.ndarray) else values
            for name, values in vars(tumour()).items()
        }
        | {"sample_ids": ["S1"]}
    )
    found = open_trace(run(tmp_path / "t.h5", observations=one, iterations=20, burn_in=10))
    with pytest.raises(UsageError, match="`primary` 'S9': the samples are S1"):
        found.export("metient", tmp_path / "o.tsv", primary="S9")
    found.export("metient", tmp_path / "o.tsv")
    assert set(read(tmp_path / "o.tsv")["site_category"]) == {"primary"}


def maf(result: Result, path: Path) -> Path:
    """A MAF of the result's mutations, of one that is not in it, and of a sample that is not."""
    notes = result.left_out  # of other rows
    assert len(notes)
    data = result.mutations.drop_duplicates("mutation_id")
    lines = ["#version 2.4", "Hugo_Symbol\tChromosome\tStart_Position\tReference_Allele\tTumor_Seq_Allele1\t"]
    lines[1] += "Tumor_Seq_Allele2\tTumor_Sample_Barcode\tNote"
    for row in data.itertuples():
        for sample in (*result.summary.sample_ids, "OTHER"):
            place = [row.gene, row.chrom, row.pos, row.ref, row.ref, row.alt, sample, " kept  as is "]
            lines.append("\t".join(map(str, place)))
    lines.append("\t".join(["NEW", "7", "5", "A", "A", "C", result.summary.sample_ids[0], ""]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_maf(result: Result, tmp_path: Path) -> None:
    source = maf(result, tmp_path / "in.maf")
    notes = result.export("maf", tmp_path / "out.maf", source=source)
    before, after = source.read_text().splitlines(), (tmp_path / "out.maf").read_text().splitlines()
    assert len(before) == len(after)
    assert before[0] == after[0]
    assert all(new.startswith(old + "\t") for old, new in zip(before[1:], after[1:]))  # nothing else changed
    table = read(tmp_path / "out.maf", comment="#", dtype={"Chromosome": str})
    assert list(table)[-4:] == ["CCF", "CCF_lower", "CCF_upper", "cluster"]
    known = table[table["Tumor_Sample_Barcode"] != "OTHER"].iloc[:-1]
    assert np.allclose(known["CCF"], result.summary.mean.ravel(), rtol=1e-5)
    assert (known["cluster"] == np.repeat(result.summary.labels, 2)).all()
    assert table[table["Tumor_Sample_Barcode"] == "OTHER"]["CCF"].isna().all()
    assert says(notes, "41 rows", "not in the result")
    assert result.export("maf", tmp_path / "twice.maf", source=tmp_path / "out.maf")  # its columns replaced
    assert (tmp_path / "twice.maf").read_text() == (tmp_path / "out.maf").read_text()


def test_blank_lines_of_a_maf(result: Result, tmp_path: Path) -> None:
    source = maf(result, tmp_path / "in.maf")
    result.export("maf", tmp_path / "out.maf", source=source)
    version, header, *rows = source.read_text().splitlines(keepends=True)
    source.write_text("".join([version, "\n", header, rows[0], "\t\t\n", *rows[1:], "\n"]))
    result.export("maf", tmp_path / "blank.maf", source=source)
    assert (tmp_path / "blank.maf").read_text() == (tmp_path / "out.maf").read_text().replace("\n", "\n\n", 1)
    source.write_text("".join([version, "\n", header, "\n", "a\tb\n"]))
    with pytest.raises(InputError, match=r"in\.maf, row 5: has 2 columns, and the header 8"):
        result.export("maf", tmp_path / "none.maf", source=source)


def test_cbioportal(result: Result, tmp_path: Path) -> None:
    notes = result.export("cbioportal", tmp_path / "out.maf", source=maf(result, tmp_path / "in.maf"))
    assert says(notes, "(cluster -1): INDETERMINATE")
    table = read(tmp_path / "out.maf", comment="#", dtype=str, keep_default_na=False)
    columns = [name for name in table if name.startswith("ASCN.")]
    assert sorted(name.removeprefix("ASCN.") for name in columns) == [
        "ASCN_INTEGER_COPY_NUMBER",
        "ASCN_METHOD",
        "CCF_EXPECTED_COPIES",
        "CCF_EXPECTED_COPIES_UPPER",
        "CLONAL",
        "EXPECTED_ALT_COPIES",
        "MINOR_COPY_NUMBER",
        "TOTAL_COPY_NUMBER",
    ]
    known = table[table["ASCN.CLONAL"] != "NA"]
    assert len(known) == 80
    assert set(known["ASCN.CLONAL"]) <= {"CLONAL", "SUBCLONAL", "INDETERMINATE"}
    assert len(set(known["ASCN.CLONAL"])) > 1
    states = known["ASCN.CLONAL"].to_numpy().reshape(40, 2)
    assert (states[result.summary.labels < 0] == "INDETERMINATE").all()
    total, minor = (
        known[f"ASCN.{name}_COPY_NUMBER"].replace("NA", "0").astype(int) for name in ("TOTAL", "MINOR")
    )
    assert (total >= minor).all()
    assert known["ASCN.CCF_EXPECTED_COPIES"].astype(float).between(0, 1).all()


def vcf(result: Result, path: Path, samples: list[str]) -> Path:
    """A VCF with a record of two alleles and one that is not in the result; fields dropped at the end of a column."""
    lines = [
        "##fileformat=VCFv4.2",
        '##FILTER=<ID=PASS,Description="All filters passed">',
        '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
        '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Reads">',
        "##contig=<ID=chr1,length=249250621>",
        "##contig=<ID=chrX,length=155270560>",
        "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]),
    ]
    for row in result.mutations.drop_duplicates("mutation_id").itertuples():
        alt, reads = row.alt, "0/1:1,2"
        if row.pos == "1002" or row.pos == 1002:
            other = next(base for base in BASES if base not in (row.ref, row.alt))
            alt, reads = f"{other},{row.alt}", "0/1:1,2,3"
        chrom = "chr1" if row.chrom == "chr1" else "chrX"
        values = [reads if column == 0 else "0/0" for column in range(len(samples))]
        lines.append(
            "\t".join([chrom, str(row.pos), ".", row.ref, alt, ".", "PASS", "DP=7", "GT:AD", *values])
        )
    lines.append("\t".join(["chr1", "99", ".", "A", "C", ".", "PASS", ".", "GT", *["0/1"] * len(samples)]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_maf_whose_second_allele_is_empty(result: Result, tmp_path: Path) -> None:
    """The variant is then the first allele, as the reader of mutations has it."""
    source = maf(result, tmp_path / "in.maf")
    lines = [line.split("\t") for line in source.read_text().splitlines()]
    for fields in lines[2:]:
        fields[4], fields[5] = fields[5], ""
    (tmp_path / "first.maf").write_text("\n".join("\t".join(fields) for fields in lines) + "\n")
    written = []
    for each in (source, tmp_path / "first.maf"):
        notes = result.export("maf", tmp_path / "out.maf", source=each, force=True)
        written.append([line.split("\t")[8:] for line in (tmp_path / "out.maf").read_text().splitlines()])
        assert says(notes, "not in the result")
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["out.vcf", "out.vcf.gz"])
def test_vcf(result: Result, tmp_path: Path, name: str) -> None:
    pysam = pytest.importorskip("pysam")
    samples = ["NORMAL", *result.summary.sample_ids]
    source = vcf(result, tmp_path / "in.vcf", samples)
    notes = result.export("vcf", tmp_path / name, source=source)
    assert says(notes, "1 record", "without values")
    assert says(notes, "without data", "the model's prevalence")
    assert says(notes, "outlier", "own reads")
    place = {str(row.pos): t for t, row in enumerate(result.mutations.iloc[::2].itertuples())}
    with pysam.VariantFile(str(source)) as before, pysam.VariantFile(str(tmp_path / name)) as after:
        assert list(after.header.samples) == samples
        records = list(zip(before, after, strict=True))
        for old, new in records:
            assert (old.chrom, old.pos, old.ref, old.alts) == (new.chrom, new.pos, new.ref, new.alts)
            assert {key: new.info[key] for key in old.info} == dict(old.info)
            for sample in samples:
                kept = [key for key in old.format if old.samples[sample][key] != (None,)]
                assert [new.samples[sample][key] for key in kept] == [
                    old.samples[sample][key] for key in kept
                ]
            t = place.get(str(new.pos))
            if t is None:
                assert "CLUSTER" not in new.info
                continue
            allele = len(new.alts) - 1
            assert new.info["CLUSTER"][allele] == result.summary.labels[t]
            for d, sample in enumerate(result.summary.sample_ids):
                found = [new.samples[sample][key][allele] for key in ("CCF", "CCFL", "CCFU")]
                expected = [getattr(result.summary, key)[t, d] for key in ("mean", "lower", "upper")]
                assert np.allclose(found, expected, rtol=1e-5)
            assert new.samples["NORMAL"]["CCF"] in ((None,) * len(new.alts), (None,))
        assert any(len(new.alts) == 2 and new.info["CLUSTER"][0] is None for _, new in records)
    plain = tmp_path / "again.vcf"
    if name == "out.vcf":
        result.export("vcf", plain, source=tmp_path / name)  # its own fields are replaced, not doubled
        assert plain.read_text() == (tmp_path / name).read_text()


def test_vcf_with_fields_of_another_program(result: Result, tmp_path: Path) -> None:
    source = vcf(result, tmp_path / "in.vcf", ["NORMAL", *result.summary.sample_ids])
    text = source.read_text().replace("##FILTER", "##FORMAT=<ID=CCF,Number=1,Type=Float>\n##FILTER", 1)
    text = text.replace("\tGT\t0/1", "\tGT:CCF\t0/1:0.5")  # a mutation that is not in the result
    source.write_text(text)
    notes = result.export("vcf", tmp_path / "out.vcf", source=source)
    assert says(notes, "fields", "in.vcf replaced: CCF")
    [line] = [line for line in (tmp_path / "out.vcf").read_text().splitlines() if "\t99\t" in line]
    assert line.split("\t")[7:10] == ["CLUSTER=.", "GT:CCF:CCFL:CCFU", "0/1:.:.:."]


def test_vcf_with_clusters_of_another_program(result: Result, tmp_path: Path) -> None:
    """A value that the new header does not describe would be taken for a cluster of the result."""
    source = vcf(result, tmp_path / "in.vcf", ["NORMAL", *result.summary.sample_ids])
    declared = '##INFO=<ID=CLUSTER,Number=1,Type=String,Description="Mine">'
    text = source.read_text().replace("##FILTER", f"{declared}\n##FILTER", 1)
    source.write_text(text.replace("\t.\tGT\t0/1", "\tCLUSTER=foo;DP=3\tGT\t0/1"))
    notes = result.export("vcf", tmp_path / "out.vcf", source=source)
    assert says(notes, "fields", "in.vcf replaced: CLUSTER")
    lines = (tmp_path / "out.vcf").read_text().splitlines()
    assert declared not in lines
    [line] = [line for line in lines if "\t99\t" in line]
    assert line.split("\t")[7:9] == ["DP=3;CLUSTER=.", "GT:CCF:CCFL:CCFU"]


def test_vcf_of_a_named_sample(result: Result, tmp_path: Path) -> None:
    source = vcf(result, tmp_path / "in.vcf", ["NORMAL", "TUMOR"])
    with pytest.raises(InputError, match=r"none of its samples .* is in the result"):
        result.export("vcf", tmp_path / "out.vcf", source=source)
    sample = result.summary.sample_ids[1]
    result.export("vcf", tmp_path / "out.vcf", source=source, source_sample=sample)
    record = (tmp_path / "out.vcf").read_text().splitlines()[-2].split("\t")
    assert record[9].endswith(":.:.:.")
    assert float(record[10].split(":")[2]) == pytest.approx(result.summary.mean[-1, 1], rel=1e-5)


def test_vcf_that_declares_a_sample_whose_name_is_not_ascii(result: Result, tmp_path: Path) -> None:
    source = vcf(result, tmp_path / "in.vcf", ["Blut", "Tümör"])
    text = source.read_text().replace("##FILTER", "##tumor_sample=Tümör\n##FILTER", 1)
    source.write_text(text, encoding="utf-8")
    result.export("vcf", tmp_path / "out.vcf", source=source, source_sample=result.summary.sample_ids[1])
    record = (tmp_path / "out.vcf").read_text().splitlines()[-2].split("\t")
    assert record[9].endswith(":.:.:.")
    assert float(record[10].split(":")[2]) == pytest.approx(result.summary.mean[-1, 1], rel=1e-5)


def test_vcf_of_several_samples_of_other_names(result: Result, tmp_path: Path) -> None:
    source, out = vcf(result, tmp_path / "in.vcf", ["R1", "R2"]), tmp_path / "out.vcf"
    samples = result.summary.sample_ids
    with pytest.raises(InputError, match="Name it with `tumour_sample`; the file has 'R1', 'R2'"):
        result.export("vcf", out, source=source)
    result.export("vcf", out, source=source, tumour_sample={samples[1]: "R1", samples[0]: "R2"})
    record = out.read_text().splitlines()[-2].split("\t")
    for column, d in ((9, 1), (10, 0)):
        assert float(record[column].split(":")[2]) == pytest.approx(result.summary.mean[-1, d], rel=1e-5)
    for names, message in (
        ({"none": "R1"}, "`tumour_sample` none=R1: the samples of the result are "),
        (
            {samples[0]: "R3"},
            f"`tumour_sample` {samples[0]}=R3: .*in.vcf has no such sample; the file has 'R1', 'R2'",
        ),
        (dict.fromkeys(samples[:2], "R1"), "two samples of the result cannot have the same name in .*in.vcf"),
    ):
        with pytest.raises(UsageError, match=message):
            result.export("vcf", out, source=source, tumour_sample=names, force=True)


def test_vcf_whose_normal_sample_is_declared(result: Result, tmp_path: Path) -> None:
    source = vcf(result, tmp_path / "in.vcf", ["N", "X1"])
    source.write_text(source.read_text().replace("##FILTER", "##normal_sample=N\n##FILTER", 1))
    result.export("vcf", tmp_path / "out.vcf", source=source, source_sample=result.summary.sample_ids[0])
    record = (tmp_path / "out.vcf").read_text().splitlines()[-2].split("\t")
    assert record[9].endswith(":.:.:.")
    assert float(record[10].split(":")[2]) == pytest.approx(result.summary.mean[-1, 0], rel=1e-5)


def test_parquet(result: Result, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    assert result.export("parquet", tmp_path / "o") == []
    for name, table in (
        ("mutations", result.mutations),
        ("clusters", result.clusters),
        ("left_out", result.left_out),
    ):
        found = pd.read_parquet(tmp_path / "o" / f"{name}.parquet")
        pd.testing.assert_frame_equal(found, table, check_dtype=False)


def test_refused(result: Result, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "folder").mkdir()
    for format, out, error, message in (
        ("nexus", "o", UsageError, "`format` 'nexus': must be one of pyclone, "),
        ("clonevol", "there", OutputError, "exists already: use `force`"),
        ("clonevol", "folder", OutputError, "folder is a folder: give the name of a file"),
        ("citup", "there", OutputError, "there is a file: give a folder"),
        ("maf", "o", UsageError, "annotates your own MAF: name it with `source`"),
        ("vcf", "o", UsageError, "annotates your own VCF: name it with `source`"),
    ):
        with pytest.raises(error, match=message):
            result.export(format, tmp_path / out)
    (tmp_path / "broken.maf").write_text("Hugo_Symbol\tChromosome\nA\t1\n")
    with pytest.raises(
        InputError, match=r"broken\.maf, row 1, column start_position: this column is missing"
    ):
        result.export("maf", tmp_path / "o", source=tmp_path / "broken.maf")
    latin = tmp_path / "latin.maf"
    latin.write_bytes(
        maf(result, tmp_path / "in.maf").read_text().replace("\t", "\tGène", 1).encode("latin-1")
    )
    with pytest.raises(InputError, match=r"latin\.maf, row \d+: .*not UTF-8"):
        result.export("maf", tmp_path / "o", source=latin)
    assert not (tmp_path / "o").exists()
    (tmp_path / "broken.vcf").write_text("##fileformat=VCFv4.2\n")
    with pytest.raises(InputError, match="ends without a line of column names"):
        result.export("vcf", tmp_path / "o", source=tmp_path / "broken.vcf")
    with pytest.raises(UsageError, match=r"^`source` .*: is a directory; your VCF is expected$"):
        result.export("vcf", tmp_path / "o", source=tmp_path)
    assert (tmp_path / "there").read_text() == "mine"
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("format", ["conipher", "ctree", "revolver"])
def test_patients_and_drivers_that_cannot_be(result: Result, format: str, tmp_path: Path) -> None:
    for patient, fault in (
        ("a\tb", r"'a\\tb': a name of a patient may not contain tabs, line breaks"),
        ("a\nb", r"'a\\nb': a name of a patient may not contain tabs, line breaks"),
        ("", "'': empty"),
        (7, "7: must be a name"),
    ):
        with pytest.raises(UsageError, match=f"`patient` {fault}"):
            result.export(format, tmp_path / "o", patient=patient)  # type: ignore[arg-type]
    for drivers in ("TP53", None):
        with pytest.raises(UsageError, match=r"`drivers` .*: must be a list of genes and mutations"):
            result.export(format, tmp_path / "o", drivers=drivers)  # type: ignore[arg-type]
    assert not (tmp_path / "o").exists()
    result.export(format, tmp_path / "o", patient=os.fsdecode(b"P\xff"))
    assert set(read(tmp_path / "o").filter(["CASE_ID", "patientID"]).iloc[:, 0]) == {r"P\udcff"}


def test_command(result: Result, tmp_path: Path) -> None:
    runner = CliRunner()
    (tmp_path / "drivers.txt").write_text("# mine\nGENE1\n\n")
    given = [
        "--format",
        "revolver",
        "-o",
        str(tmp_path / "r.tsv"),
        "--drivers",
        str(tmp_path / "drivers.txt"),
    ]
    done = runner.invoke(cli.app, ["export", str(result.path), *given])
    assert done.exit_code == 0, done.output
    assert "intervals and probabilities of clusters have no place in the format" in done.output
    assert read(tmp_path / "r.tsv")["is.driver"].sum() == 1
    again = runner.invoke(cli.app, ["export", str(result.path), *given])
    assert again.exit_code == 2
    (tmp_path / "latin.txt").write_bytes(b"GEN\xc9\n")
    for name, fault in (
        (".", "cannot be read: Is a directory"),
        ("latin.txt", "is not UTF-8; expected a gene or mut"),
    ):
        given[-1] = str(tmp_path / name)
        wrong = runner.invoke(cli.app, ["export", str(result.path), *given, "--force"])
        assert wrong.exit_code == 2
        assert f"--drivers {tmp_path / name}: {fault}" in wrong.output
    empty = runner.invoke(cli.app, ["export", str(tmp_path), "--format", "citup", "-o", str(tmp_path / "c")])
    assert empty.exit_code == 2


def test_outliers_are_compared_and_not_counted() -> None:
    truth = pd.DataFrame({"mutation_id": list("abcde"), "cluster": [0, 0, 1, 1, -1]})
    found = truth.rename(columns={"cluster": "cluster_id"}).assign(sample_id="S", cellular_prevalence=0.5)
    scores = score(truth, found)
    assert (scores["clusters_true"], scores["clusters_found"], scores["v_measure"]) == (2, 2, 1)
    scores = score(truth, found.assign(cluster_id=[0, 0, 1, 1, 2]))
    assert (scores["clusters_true"], scores["clusters_found"], scores["v_measure"]) == (2, 3, 1)


def test_score_command(result: Result, tmp_path: Path) -> None:
    result.mutations.to_csv(tmp_path / "mutations.tsv", sep="\t", index=False)
    truth = result.mutations[["mutation_id", "sample_id"]].assign(
        cluster=result.mutations["cluster_id"], ccf=result.mutations["cellular_prevalence"]
    )
    truth.to_csv(tmp_path / "truth.tsv", sep="\t", index=False)
    done = CliRunner().invoke(cli.app, ["score", str(tmp_path), str(tmp_path / "truth.tsv")])
    assert done.exit_code == 0, done.output
    scores = dict(line.split("\t") for line in done.output.splitlines())
    assert float(scores["v_measure"]) == float(scores["coverage"]) == float(scores["dream_1b"]) == 1.0
    assert float(scores["rmse"]) < 1e-9
    assert float(scores["dream_2a"]) == pytest.approx(1.0)


def test_alleles_of_the_source_are_trimmed() -> None:
    of = {"chrom": ["1"], "pos": ["101"], "ref": ["A"], "alt": ["T"]}
    answer: Any = SimpleNamespace(observations=SimpleNamespace(mutation_ids=["m"]), annotation=of.__getitem__)
    assert Mutations(answer).find("chr1", "100", "GAC", "GTC") == 0


def test_places_as_other_programs_write_them() -> None:
    """R takes alleles that are all T for TRUE, and pandas positions of which some are missing for floats."""
    of = {
        "chrom": ["1", "1.0", "1"], "pos": ["5", "1000000.0", "7.0"], "ref": ["TRUE", "A", ""], "alt": ["A", "T", ""],
    }  # fmt: skip
    answer: Any = SimpleNamespace(
        observations=SimpleNamespace(mutation_ids=["m0", "m1", "m2"]), annotation=of.__getitem__
    )
    mutations = Mutations(answer)
    assert mutations.find("1", "5", "T", "A") is None
    assert mutations.find("chr1", "1000000", "A", "T") == mutations.find("1", "1e6", "A", "T") == 1
    assert mutations.find("1", "7", "A", "T") == 2


@pytest.mark.parametrize(
    ("vcf", "maf"),
    [
        (("100", "CAA", "C"), ("101", "AA", "-")),
        (("100", "C", "CAA"), ("100", "-", "AA")),
        (("100", "C", "CAC"), ("100", "-", "AC")),
    ],
)
def test_indels_are_found_in_the_form_of_vcf_and_of_maf(
    vcf: tuple[str, str, str], maf: tuple[str, str, str]
) -> None:
    for there, here in ((vcf, maf), (maf, vcf)):
        of = {name: [text] for name, text in zip(("chrom", "pos", "ref", "alt"), ("1", *there))}
        answer: Any = SimpleNamespace(
            observations=SimpleNamespace(mutation_ids=["m"]), annotation=of.__getitem__
        )
        mutations = Mutations(answer)
        assert mutations.find("chr1", *here) == 0
        assert mutations.find("chr1", *there) == 0
        assert mutations.find("chr1", str(int(here[0]) + 1), *here[1:]) is None
        assert mutations.find("chr1", here[0], here[1], "GTG") is None
