"""Names of chromosomes, genome builds, and copies in normal cells."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm.inputs import genome
from pyclone_pgsm.inputs.genome import (
    BUILDS,
    CHROMOSOMES,
    LENGTHS,
    PSEUDO_AUTOSOMAL,
    builds_that_fit,
    harmonise_build,
    harmonise_chromosome,
    normal_copies,
)


def test_examples() -> None:
    found = doctest.testmod(genome)
    assert found.attempted >= 3
    assert found.failed == 0


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("1", "chr1", "CHR1", "Chr01", "01", "1.0", " 1 ", "NC_000001.11"), "1"),
        (("22", "chr22", "22.0", "NC_000022.10"), "22"),
        (("X", "x", "chrX", "chrx", "23", "chr23", "23.0", "NC_000023.11"), "X"),
        (("Y", "chrY", "24", "NC_000024.9"), "Y"),
        (("MT", "M", "chrM", "chrMT", "25", "NC_012920.1"), "MT"),
        (("GL000192.1",), "GL000192.1"),
        (("chrUn_KI270302v1", "Un_KI270302v1"), "Un_KI270302v1"),
        (("chrX_KI270880v1_alt",), "X_KI270880v1_alt"),
        (("26", "chr26"), "26"),
        (("", "chr", " "), ""),
    ],
)
def test_names(names: tuple[str, ...], expected: str) -> None:
    assert {harmonise_chromosome(name) for name in names} == {expected}


def test_every_name_is_its_own() -> None:
    assert [harmonise_chromosome(name) for name in CHROMOSOMES] == list(CHROMOSOMES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hg19", "GRCh37"),
        ("GRCh37.p13", "GRCh37"),
        ("b37", "GRCh37"),
        ("file:///ref/human_g1k_v37.fasta", "GRCh37"),
        ("37", "GRCh37"),
        ("hg38", "GRCh38"),
        ("/ref/Homo_sapiens_assembly38.GRCh38.fa", "GRCh38"),
        ("38", "GRCh38"),
        ("mm10", None),
        ("hg19ToHg38", None),
        ("", None),
    ],
)
def test_build_names(name: str, expected: str | None) -> None:
    assert harmonise_build(name) == expected


def test_lengths_are_of_the_assemblies() -> None:
    """The sums over 1-22, X and Y that the Genome Reference Consortium gives for the assembled chromosomes."""
    sums = {build: sum(LENGTHS[build][chrom] for chrom in CHROMOSOMES[:24]) for build in BUILDS}
    assert sums == {"GRCh37": 3_095_677_412, "GRCh38": 3_088_269_832}


def test_pseudo_autosomal_regions_are_as_long_on_both() -> None:
    for build in BUILDS:
        on_x, on_y = (PSEUDO_AUTOSOMAL[build][chrom] for chrom in "XY")
        assert [last - first for first, last in on_x] == [last - first for first, last in on_y]
        assert on_x[1][1] < LENGTHS[build]["X"]
        assert on_y[1][1] < LENGTHS[build]["Y"]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({}, ["GRCh37", "GRCh38"]),
        ({"1": 248_956_422}, ["GRCh37", "GRCh38"]),
        ({"1": 248_956_423}, ["GRCh37"]),
        ({"X": 156_040_895}, ["GRCh38"]),
        ({"X": 156_040_895, "1": 249_000_000}, []),
        ({"MT": 10**9, "GL000192.1": 10**9}, ["GRCh37", "GRCh38"]),
    ],
)
def test_builds_that_fit(last: dict[str, int], expected: list[str]) -> None:
    assert builds_that_fit(last) == expected


@pytest.mark.parametrize(
    ("chrom", "position", "sex", "build", "expected"),
    [
        ("1", 1, None, None, 2),
        ("22", 10**8, "male", "GRCh37", 2),
        ("X", 50_000_000, "female", None, 2),
        ("X", 50_000_000, "male", None, 1),
        ("X", 50_000_000, None, "GRCh38", -1),
        ("Y", 10_000_000, "male", None, 1),
        ("Y", 10_000_000, "female", None, 0),
        ("Y", 10_000_000, None, None, -1),
        ("X", 60_001, "male", "GRCh37", 2),
        ("X", 60_000, "male", "GRCh37", 1),
        ("X", 2_699_520, "male", "GRCh37", 2),
        ("X", 2_699_521, "male", "GRCh37", 1),
        ("X", 10_001, "male", "GRCh38", 2),
        ("X", 2_781_479, "male", "GRCh38", 2),
        ("X", 2_781_480, "male", "GRCh38", 1),
        ("X", 155_260_560, "male", "GRCh37", 2),
        ("X", 156_030_895, "male", "GRCh38", 2),
        ("Y", 2_649_520, "male", "GRCh37", 2),
        ("Y", 2_649_521, "male", "GRCh37", 1),
        ("Y", 57_217_415, "male", "GRCh38", 2),
        ("Y", 59_363_566, "female", "GRCh37", 2),
        ("X", 1_000_000, None, None, 2),
        ("X", 2_750_000, "male", None, -1),
        ("X", 2_750_000, "female", None, 2),
        ("MT", 100, "male", "GRCh37", 0),
        ("GL000192.1", 100, "male", "GRCh37", 0),
    ],
)
def test_normal_copies(chrom: str, position: int, sex, build, expected: int) -> None:
    assert normal_copies([chrom], [position], sex, build).tolist() == [expected]


def test_normal_copies_of_many() -> None:
    chroms = ["X", "1", "Y", "MT", "X"]
    positions = np.array([50_000_000, 5, 10_000_000, 7, 100_000])
    expected = [1, 2, 1, 0, 2]
    assert normal_copies(chroms, positions, "male", "GRCh37").tolist() == expected
    categorical = pd.Categorical(chroms, categories=["Y", "X", "1", "MT", "never"])
    assert normal_copies(categorical, positions, "male", "GRCh37").tolist() == expected
    assert normal_copies(pd.Series(categorical), positions, "male", "GRCh37").tolist() == expected
    assert normal_copies([], [], "male", None).tolist() == []
