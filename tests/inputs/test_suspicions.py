"""Swapped reads, two patients, and reads of calls only are suspected, ordinary data not; unknown contents are told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_runs import without_waiting
from typer.testing import CliRunner

from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.cli.messages import with_options
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.read_counts.empty_samples import without_mutations
from pyclone_pgsm.inputs.read_counts.suspicions import suspicions
from pyclone_pgsm.inputs.read_counts.tables import read_tables
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate

HEADER = "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn"


def observed(alt: np.ndarray, depth: int = 100, major: int = 1, content: float = 1.0) -> Observations:
    """(T, D) reads that show the variant, of diploid loci."""
    ones = np.ones(alt.shape, dtype=np.int64)
    return Observations(
        [f"m{place}" for place in range(len(alt))],
        [f"S{place}" for place in range(alt.shape[1])],
        depth - alt,
        alt,
        major * ones,
        (2 - major) * ones,
        2 * ones,
        np.full(alt.shape, content),
        np.full(alt.shape, 0.001),
        np.ones(alt.shape, dtype=bool),
    )


def swapped(observations: Observations) -> Observations:
    return replace(observations, ref_counts=observations.alt_counts, alt_counts=observations.ref_counts)


@pytest.mark.parametrize("copy_numbers", ["diploid", "mixed"])
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("purity", [0.4, 1.0])
def test_simulated_tumours(copy_numbers: str, samples: int, purity: float) -> None:
    options = SimulationOptions(mutations=60, samples=samples, purity=purity, copy_numbers=copy_numbers)
    for seed in range(5):
        assert suspicions(simulate(options, np.random.default_rng(seed)).observations) == []


def test_swapped_reads() -> None:
    options = SimulationOptions(mutations=60, samples=2, purity=0.7)
    (text,) = suspicions(swapped(simulate(options, np.random.default_rng(1)).observations))
    assert text.startswith(
        "are the reads of reference and variant swapped? ref_counts are the reads that show the ref"
    )
    assert (
        "% of the variant allele frequencies are far above what copy numbers and tumour content allow" in text
    )


@pytest.mark.parametrize("which", range(3))
def test_swapped_reads_of_one_sample(which: int) -> None:
    data = simulate(
        SimulationOptions(mutations=60, samples=3, purity=0.7), np.random.default_rng(1)
    ).observations
    other, here = swapped(data), np.arange(3) == which
    counts = {
        name: np.where(here, getattr(other, name), getattr(data, name))
        for name in ("ref_counts", "alt_counts")
    }
    (text,) = suspicions(replace(data, **counts))
    assert text.startswith("are the reads of reference and variant swapped?")
    assert f"In '{data.sample_ids[which]}', " in text


def test_a_sample_given_twice() -> None:
    """Or, which is no mistake, two samples without reads, and with the same variant reads by chance."""
    alt = np.random.default_rng(1).binomial(100, 0.3, (60, 2))
    data = observed(alt[:, [0, 1, 0]])
    assert suspicions(data) == ["is a sample given twice? 'S0', 'S2' have the same reads of every mutation"]
    depth = data.ref_counts + np.array([0, 0, 1])
    assert suspicions(replace(data, ref_counts=depth)) == []
    data.has_data[:, [0, 2]] = False
    (text,) = suspicions(data)
    assert text.startswith("no mutation has reads in 'S0', 'S2': ")


def test_normal_copies_of_one_patient() -> None:
    data = observed(np.random.default_rng(1).binomial(100, 0.3, (60, 2)))
    data.normal_cn[7] = 1
    assert suspicions(data) == []
    data.normal_cn[8, 1] = 1
    assert suspicions(data) == [
        "the normal cells of a patient have the same copies in all samples, but normal_cn differs between samples for "
        "'m8'"
    ]
    data.has_data[8, 0] = False
    assert suspicions(data) == []


@pytest.mark.parametrize("content", [0.58, 0.7, 0.8])
def test_a_content_that_is_too_low(content: float) -> None:
    """The mutations are in all tumour cells, 0.7 of the sample, and in 45 % of them."""
    rng = np.random.default_rng(3)
    share = np.repeat([0.35, 0.35 * 0.45], [154, 96])
    alt = rng.binomial(100, rng.beta(share * 200, (1 - share) * 200))
    found = suspicions(observed(alt[:, None], content=content))
    assert len(found) == (content == 0.58)
    if found:
        assert found[0].startswith("is the tumour content of 'S0', 0.58, too low? 43 of its 250 mutations")
        assert "`tumour_content` S0=0.58±0.058" in found[0]
    assert suspicions(observed(alt[:10, None], content=content)) == []  # so few may be high by chance
    assert len(suspicions(observed(alt[:40, None], content=content))) == (content == 0.58)
    assert suspicions(observed(alt[:, None], content=content), uncertain=["S0"]) == []
    assert suspicions(observed(2 * alt[:, None], content=1.0)) == []


def with_germline(number: int, content: float = 0.7, shift: float = 0.0) -> Observations:
    """Two samples of 100 mutations of all tumour cells, and a few germline variants; the true content is 0.7."""
    share = np.repeat([0.35, 0.5 + shift], [100, number])[:, None] * np.ones(2)
    return observed(np.random.default_rng(3).binomial(100, share), content=content)


def test_germline_variants() -> None:
    assert suspicions(with_germline(0)) == suspicions(with_germline(2)) == []
    (text,) = suspicions(with_germline(6))
    assert text.startswith(
        "are germline variants among the mutations? The reads of 6 of 106 fit a heterozygous"
    )
    assert "tumour: 'm100', 'm101', 'm102', 'm103', 'm104' and 1 more. They may join" in text
    assert suspicions(with_germline(6), uncertain=["S0", "S1"]) == [text]
    far_higher = suspicions(with_germline(6, shift=0.25))
    assert not any("germline variants among" in text for text in far_higher)
    assert suspicions(with_germline(6, content=1.0)) == []
    low = suspicions(with_germline(6, content=0.6))
    assert len(low) == 2
    assert all("too low?" in text for text in low)


def test_high_frequencies_that_copy_numbers_allow() -> None:
    lost = observed(np.full((20, 2), 97), major=2)
    assert suspicions(lost) == []
    assert suspicions(observed(np.full((4, 2), 97))) == []
    assert len(suspicions(observed(np.full((20, 2), 97)))) == 1


def only_calls(observations: Observations, least_reads: int = 3) -> Observations:
    """The data of a user whose caller says nothing about mutations that it did not call in a sample."""
    return replace(observations, has_data=observations.alt_counts >= least_reads)


def test_reads_of_calls_only() -> None:
    alt = np.full((100, 3), 30)
    alt[:30, 0] = alt[20:35, 1] = 0
    assert suspicions(observed(alt)) == []
    (text,) = suspicions(only_calls(observed(alt)))
    assert text.startswith(
        "were reads counted only where a mutation was called? In 'S0', 'S1' nearly every mutation"
    )
    assert "and 15 to 30 of 100 have no reads" in text
    assert "What has no reads counts as unknown, not as absent" in text


@pytest.mark.parametrize(("mutations", "private"), [(20, 6), (30, 6), (30, 10), (45, 9)])
def test_reads_of_few_calls(mutations: int, private: int) -> None:
    """Two regions, each with mutations of its own."""
    alt = np.full((mutations, 2), 30)
    alt[:private, 0] = alt[private : 2 * private, 1] = 0
    assert suspicions(observed(alt)) == []
    (text,) = suspicions(only_calls(observed(alt)))
    assert text.startswith("were reads counted only where a mutation was called? In 'S0', 'S1'")
    assert f"and {private} of {mutations} have no reads" in text


def test_few_mutations_of_which_some_have_no_reads() -> None:
    """As many may be in a gap of the segments, or be covered by no read."""
    for mutations, missing, samples in [(10, 3, 2), (20, 4, 2), (8, 1, 4), (30, 4, 1)]:
        alt = np.full((mutations, max(samples, 2)), 30)
        for place in range(samples):
            alt[place * missing : (place + 1) * missing, place] = 0
        assert suspicions(only_calls(observed(alt))) == []


def test_missing_reads_of_counted_mutations() -> None:
    """Reads are missing at random: in a gap of the segments, or without coverage."""
    alt = np.full((100, 2), 30)
    alt[:30, 0] = alt[60:, 1] = 0
    has_data = np.random.default_rng(1).random(alt.shape) > 0.2
    assert suspicions(replace(observed(alt), has_data=has_data)) == []


def test_reads_of_calls_only_of_a_panel() -> None:
    alt = np.full((20, 5), 60)
    alt[:5, :3] = alt[5:10, 3] = 0
    assert len(suspicions(only_calls(observed(alt)))) == 1
    assert suspicions(only_calls(observed(alt[:, :3]))) == []


def test_a_single_sample_has_nothing_to_compare() -> None:
    assert suspicions(only_calls(observed(np.full((40, 1), 30)))) == []


def test_a_normal_sample() -> None:
    """Its variant reads are errors; one certain mutation, or 1 % of the reads of deep sequencing, are of a tumour."""
    alt = np.full((40, 3), 30)
    alt[:, 1] = alt[:, 2] = np.arange(40) % 4 == 0
    (text,) = [each for each in suspicions(observed(alt)) if "normal" in each]
    assert text.startswith(
        "is a normal sample among those of the tumour? No mutation is present in 'S1', 'S2': errors explain"
    )
    assert without_mutations(alt, np.full_like(alt, 100)).tolist() == [False, True, True]
    alt[5, 1] = 8
    alt[:, 2] = 1
    assert not without_mutations(alt, np.full_like(alt, 100)).any()
    assert not without_mutations(alt[:, 1:] * 0, np.full((40, 2), 100)).any()  # no other sample has them
    alt[:, 2] = 0
    assert without_mutations(alt, np.full_like(alt, 12)).tolist() == [False, False, True]
    assert not without_mutations(alt, np.full_like(alt, 11)).any()  # a tumour might give as few
    assert not without_mutations(alt[:4], np.full((4, 3), 1000)).any()


@pytest.mark.parametrize(("prior", "warnings"), [("total", 1), ("no-zygosity", 0)])
def test_alleles_do_not_matter_to_priors_of_totals(prior: str, warnings: int) -> None:
    """A mutation may be on all copies, and 1 + 1 copies of a locus with one normal copy are a gain.

    Gains have no warning where copy numbers are not used.
    """
    data = replace(observed(np.full((60, 1), 85)), major_cn=np.full((60, 1), 2))
    totals = replace(data, major_cn=data.major_cn + data.minor_cn, minor_cn=np.zeros_like(data.minor_cn))
    assert "swapped?" in suspicions(data)[0]
    for each in (data, totals):
        texts = suspicions(each, prior)
        assert ["most mutations are on gained segments" in text for text in texts] == [True] * warnings
    haploid = replace(observed(np.full((60, 1), 30)), normal_cn=np.ones((60, 1), dtype=np.int64))
    assert suspicions(haploid) == []
    assert len(suspicions(haploid, prior)) == warnings


def test_mostly_gained() -> None:
    alt = np.full((60, 2), 30)
    data = observed(alt)
    assert suspicions(data) == []
    major = np.ones_like(alt)
    major[:37, 1] = 2
    (text,) = suspicions(replace(data, major_cn=major))
    assert text.startswith("in 'S1' most mutations are on gained segments, as after a doubling of the genome")
    for prior in ("clonal", "ab", "bb", "no-zygosity"):
        assert suspicions(replace(data, major_cn=major), prior) == []
    (text,) = suspicions(replace(data, major_cn=major), "total")
    assert "use `genotype_prior` clonal, which needs the copies of each allele" in text
    major[36, 1] = 1  # 0.6
    assert suspicions(replace(data, major_cn=major)) == []
    assert (
        suspicions(replace(data, major_cn=major + 1, minor_cn=np.zeros_like(alt))) == []
    )  # 2 + 0 is no gain


def test_ten_mutations_tell_that_most_are_gained() -> None:
    for number in (9, 10):
        data = observed(np.full((number, 1), 30))
        found = suspicions(replace(data, major_cn=np.full((number, 1), 2)))
        assert len(found) == (number == 10)


def test_a_sample_without_reads() -> None:
    """Whether its rows are left out, or there are some without reads."""
    alt = np.full((12, 3), 30)
    data = observed(alt)
    known = np.ones_like(alt, bool)
    known[:, 1] = False
    nothing = np.where(known, data.ref_counts, 0), np.where(known, alt, 0)
    unread = replace(data, ref_counts=nothing[0], alt_counts=nothing[1])
    for each in (replace(data, has_data=known), unread):
        assert suspicions(each)[-1].startswith(
            "no mutation has reads in 'S1': the prevalences there are those of"
        )
    known[3, 1] = True
    assert not any("has reads" in text for text in suspicions(replace(data, has_data=known)))


def test_error_rates_far_above_those_of_sequencing() -> None:
    """Unknown ones, NaN, raise no suspicion, nor do those of missing rows."""
    data = observed(np.full((12, 2), 30))
    data.error_rate[0] = np.nan
    data.error_rate[1] = 0.05
    assert suspicions(data) == []
    data.error_rate[2, 1] = 0.3
    (text,) = suspicions(data)
    assert text.startswith(
        "the error rate is up to 0.3 in 'S1': is that the probability that a read shows a wrong"
    )
    data.has_data[2, 1] = False
    assert suspicions(data) == []


def test_total_copies_as_major_ones() -> None:
    """Most loci are 1 + 1, some 2 + 1, one is 2 + 0; in the table they are 2 and 1, 3 and 1, 2 and 0."""
    minor = np.repeat([1, 1, 0], [40, 19, 1])[:, None]
    data = replace(observed(np.full((60, 1), 20)), minor_cn=minor)
    major = np.repeat([1, 2, 2], [40, 19, 1])[:, None]
    assert suspicions(replace(data, major_cn=major)) == []
    for prior in ("major", "clonal"):
        (text,) = suspicions(replace(data, major_cn=major + minor), prior)
        assert text.startswith(
            "is major_cn the total copy number? 67 % of its values are 2 with minor_cn 1, and none is less"
        )
    few = np.repeat([2, 3], [20, 40])[:, None]
    assert "total" not in suspicions(replace(data, major_cn=few, minor_cn=np.ones_like(minor)))[0]
    gained = np.repeat([2, 1], [59, 1])[:, None]  # all but one mutation after a doubling of the genome
    (text,) = suspicions(replace(data, major_cn=gained, minor_cn=np.ones_like(minor)))
    assert text.startswith("in 'S0' most mutations are on gained segments")


def named(data: Observations, names: list[str], **texts: list[str]) -> Observations:
    return replace(data, mutation_ids=names, annotations=texts)


def test_one_mutation_under_two_names() -> None:
    """It seems to be of two patients, or called in one sample only, for no other reason."""
    alt = np.full((12, 2), 30)
    alt[:6, 1] = alt[6:, 0] = 0
    data = replace(observed(alt), has_data=alt > 0)
    names = [f"1:{place}" for place in range(6)] + [f"Chr1:{place}" for place in range(6)]
    (text,) = suspicions(named(data, names))
    assert text == (
        "is a mutation named in several ways? The names of 6 mutations have the same position and alleles, or differ "
        "only in 'chr' or capital letters: '1:0'/'Chr1:0'; '1:1'/'Chr1:1'; '1:2'/'Chr1:2'; and 3 more. Each name is a "
        "mutation of its own here; write a mutation_id alike in all samples"
    )
    other = [f"m{place}" for place in range(12)]
    place = {"chrom": ["1"] * 6 + ["chr1"] * 6, "pos": [str(100 + row) for row in range(6)] * 2}
    assert suspicions(named(data, other, **place))[0].startswith("is a mutation named in several ways?")
    (text,) = suspicions(named(data, other, chrom=["1"] * 12, pos=other))
    assert text.startswith("are these samples of 2 patients?")


def test_two_mutations_at_one_position() -> None:
    """Their alleles differ, or, where these are not known, a sample has both."""
    data = observed(np.full((12, 2), 30))
    names = [f"m{place}" for place in range(12)]
    place = {"chrom": ["1"] * 12, "pos": ["100", "100", *names[2:]]}
    assert suspicions(named(data, names, **place)) == []
    alleles = {"ref": ["A"] * 12, "alt": ["C", "G"] + ["T"] * 10}
    assert suspicions(named(data, names, **place, **alleles)) == []
    alleles["alt"][1] = "C"
    (text,) = suspicions(named(data, names, **place, **alleles))
    assert text.startswith("is a mutation named in several ways? The names of 1 mutation have")


def test_normal_copies_of_autosomes() -> None:
    data = observed(np.full((60, 2), 30))
    data.normal_cn[:2] = 1
    names = data.mutation_ids
    assert suspicions(data) == []
    assert suspicions(named(data, names, chrom=["chrX", "Y"] + ["7"] * 58)) == []
    (text,) = suspicions(named(data, names, chrom=["X", "chr7"] + ["7"] * 58))
    assert text == (
        "normal cells have two copies of chromosomes 1 to 22, but normal_cn is another number for 1 mutation there: "
        "'m1'. It is the copy number of normal cells, not that of the tumour"
    )


def test_two_patients() -> None:
    alt = np.zeros((12, 4), dtype=np.int64)
    alt[:6, :2] = alt[6:, 2:] = 40
    apart = observed(alt)
    (text,) = suspicions(apart)
    assert text == (
        "are these samples of 2 patients? 'S0', 'S1' and 'S2', 'S3' have no mutation in common that is seen in both. A "
        "run is meant for the samples of one tumour"
    )
    noisy = alt + np.random.default_rng(1).binomial(2, 0.5, alt.shape)
    assert len(suspicions(observed(noisy))) == 1
    alt[0] = 40
    assert suspicions(observed(alt)) == []


def test_single_samples_without_a_mutation_seen_in_both() -> None:
    alt = np.zeros((12, 2), dtype=np.int64)
    alt[:6, 0] = alt[6:, 1] = 40
    apart = observed(alt)
    assert suspicions(apart) == []
    (text,) = suspicions(replace(apart, has_data=alt > 0))
    assert text == (
        "are these samples of 2 patients? 'S0' and 'S1' have no mutation in common. A run is meant for the samples "
        "of one tumour"
    )
    few = replace(observed(alt[4:8]), has_data=alt[4:8] > 0)
    assert suspicions(few) == []


def table(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "t.tsv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def validate(*arguments: object) -> tuple[str, str]:
    result = CliRunner().invoke(cli.app, ["validate", *map(str, arguments)])
    assert result.exit_code == 0
    return result.stdout, result.stderr


def test_tumour_content_taken_as_one(tmp_path: Path) -> None:
    path = table(tmp_path, "a\tR1\t9\t1\t1\t1\t2", "a\tR2\t9\t1\t1\t1\t2")
    assert read_tables(path)[0].content_unknown == ["R1", "R2"]
    assert read_tables(path, tumour_content={"R1": 0.8})[0].content_unknown == ["R2"]
    assert read_tables(path, tumour_content=0.8)[0].content_unknown == []
    _, stderr = validate(path)
    unknown = "tumour content of 'R1', 'R2' is unknown and assumed to be 1; set it with --tumour-content"
    assert stderr == f"pyclone-pgsm: warning: {unknown}\n"
    assert validate(path, "--tumour-content", 0.8)[1] == ""
    known = table(tmp_path, "a\tR1\t9\t1\t1\t1\t2\t1", header=HEADER + "\ttumour_content")
    assert read_tables(known)[0].content_unknown == []
    assert validate(known)[1] == ""


def test_tumour_content_that_differs_between_rows(tmp_path: Path) -> None:
    rows = [
        f"m{place}\t{sample}\t9\t1\t1\t1\t2\t{content}"
        for place, (sample, content) in enumerate(
            [("R1", 0.8), ("R1", 0.8), ("R1", 0.75), ("R2", 0.5), ("R1", 0.8), ("R2", 0.5)]
        )
    ]
    path = table(tmp_path, *rows, header=HEADER + "\ttumour_content")
    message = (
        f"the tumour content of 'R1' differs between its mutations: 0.8 (3 rows, the first is row 2 of {path}); 0.75 "
        f"(1 row, the first is row 4 of {path}). A sample has one tumour content; check the column, or set it with "
        "`tumour_content`"
    )
    assert read_tables(path)[0].content_varies == [message]
    assert validate(path)[1] == f"pyclone-pgsm: warning: {with_options(message)}\n"
    assert validate(path, "--tumour-content", 0.8)[1] == ""
    many = [f"m{place}\tR1\t9\t1\t1\t1\t2\t0.{place + 1}" for place in range(5)]
    assert (
        "; 2 more values. A"
        in read_tables(table(tmp_path, *many, header=HEADER + "\ttumour_content"))[0].content_varies[0]
    )


def test_names_of_samples_that_differ_only_in_spelling(tmp_path: Path) -> None:
    names = ("S1", "s1", "R 2", "S3", "r  2", "T1")
    rows = [f"m\t{name}\t9\t1\t1\t1\t2\t0.8" for name in names]
    stderr = validate(table(tmp_path, *rows, header=HEADER + "\ttumour_content"))[1]
    assert stderr.startswith("pyclone-pgsm: warning: are these one sample each, spelled in several ways?")
    assert stderr.endswith(" are of different samples here: 'S1', 's1'; 'R 2', 'r  2'\n")
    assert stderr.count("warning") == 1


def test_warnings_of_validate(tmp_path: Path) -> None:
    rows = [f"m{place}\tS\t3\t97\t1\t1\t2\t0.8" for place in range(9)]
    stderr = validate(table(tmp_path, *rows, header=HEADER + "\ttumour_content"))[1]
    assert stderr.startswith("pyclone-pgsm: warning: are the reads of reference and variant swapped?")


def test_rows_that_seem_to_be_commented_out(tmp_path: Path) -> None:
    """Names are any text; they may all begin with that character."""
    names = ("#a", "#b")
    row = "{}\tS\t90\t9\t1\t1\t2\t0.8".format
    header = HEADER + "\ttumour_content"
    assert validate(table(tmp_path, *map(row, names), header=header))[1] == ""
    stderr = validate(table(tmp_path, *map(row, ("c", *names)), header=header))[1]
    assert stderr.startswith(
        "pyclone-pgsm: warning: are these rows meant as comments? Comments are only possible"
    )
    assert stderr.endswith(" are used as others are: '#a', '#b'\n")


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("command", ["run", "analyze"])
def test_warnings_of_runs(command: str, quiet: bool, tmp_path: Path) -> None:
    path = table(tmp_path, *(f"m{place}\tS\t90\t{place}\t1\t1\t2" for place in range(6)))
    short = ["--iterations", "4", "--burn-in", "2", "--chains", "1", "--threads", "1", "--grid-size", "11"]
    short += ["--no-plots"] * (command == "analyze") + ["--quiet"] * quiet
    result = CliRunner().invoke(cli.app, [command, str(path), "-o", str(tmp_path / "out"), *short])
    assert result.exit_code == 0
    text = "pyclone-pgsm: warning: tumour content of 'S' is unknown and assumed to be 1; set it with --tumour-content\n"
    assert without_waiting(result.stderr) == ("" if quiet else text)


def test_suspicions_stand_in_the_results(tmp_path: Path) -> None:
    rows = [f"m{place}\tS\t3\t97\t1\t1\t2\t0.8" for place in range(9)]
    path = table(tmp_path, *rows, header=HEADER + "\ttumour_content")
    short = ["--iterations", "4", "--burn-in", "2", "--chains", "1", "--threads", "1", "--grid-size", "11"]
    out = tmp_path / "out"
    result = CliRunner().invoke(cli.app, ["analyze", str(path), "-o", str(out), *short, "--no-plots", "-q"])
    assert result.exit_code == 0
    warnings = json.loads((out / "run.json").read_text())["warnings"]
    assert sum("reads of reference and variant swapped?" in warning for warning in warnings) == 1
    again = CliRunner().invoke(
        cli.app, ["summarize", str(out / "trace.h5"), "-o", str(tmp_path / "again"), "-q"]
    )
    assert again.exit_code == 0
    assert json.loads((tmp_path / "again" / "run.json").read_text())["warnings"] == warnings


def test_empty_counts_say_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["validate", str(table(tmp_path, "a\tR1\tNA\t1\t1\t1\t2"))])
    assert result.exit_code == 2
    assert result.stderr.endswith(
        "row 2, column ref_counts: 'NA': no value; expected a number of reads: a whole number, 0 or more. If nothing "
        "is known of the mutation in this sample, leave out the row, or write 0 for both counts\n"
    )


@pytest.mark.parametrize("name", ["variant_gene", "Gene_Symbol", "gene_name", "Hugo_Symbol"])
def test_names_of_genes(name: str, tmp_path: Path) -> None:
    row = "a\tR1\t9\t1\t1\t1\t2\tTP53"
    assert read_tables(table(tmp_path, row, header=f"{HEADER}\t{name}"))[0].annotations == {"gene": ["TP53"]}
    both = table(tmp_path, f"{row}\tKRAS", header=f"{HEADER}\t{name}\tgene")
    assert read_tables(both)[0].annotations == {"gene": ["KRAS"]}
