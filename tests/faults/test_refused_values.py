"""Values that no run can take are refused at the start, with their reason, and nothing is written."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from pyclone_pgsm.analyses.matrix_input import standardise
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.errors import DataValueError, InputError, OutputError, UsageError
from pyclone_pgsm.files import check_new, make_folder
from pyclone_pgsm.inputs.matrix import read_matrix
from pyclone_pgsm.inputs.read_counts.tables import read_tables
from pyclone_pgsm.inputs.sample_sheet import read_sheet
from pyclone_pgsm.inputs.segments.reading import read_segments
from pyclone_pgsm.inputs.tumour_content import parse_tumour_content
from pyclone_pgsm.likelihoods.matrix import DataMatrix
from pyclone_pgsm.priors import DirichletProcess, make_prior
from pyclone_pgsm.ranges import BOUNDS
from pyclone_pgsm.samplers import hyperparameters
from pyclone_pgsm.sampling import chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tumour.options import ModelOptions

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_runs import many_segments, run_matrix, write_tumour

HEADER = "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn\n"


def refused(*arguments: object) -> str:
    """The message of a call that ends with exit code 2."""
    result = CliRunner().invoke(cli.app, list(map(str, arguments)))
    assert result.exit_code == 2, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture
def bits(tmp_path: Path) -> Path:
    path = tmp_path / "bits.csv"
    path.write_text("a,b\n" + "0,1\n1,0\n1,1\n" * 3)
    return path


@pytest.mark.parametrize(
    ("likelihood", "param", "message"),
    [
        ("bernoulli", "a0=1e-320", "a0 must be between 1e-09 and 1e+09, not 1e-320: smaller values are lost"),
        ("bernoulli", "b0=[1,1e300]", "b0 must be between 1e-09 and 1e+09, not 1e+300"),
        ("bernoulli", "a0=1" + 400 * "0", "a0 must be a positive number"),
        ("normal", "r0=1e-320", "r0 must be between 1e-09 and 1e+09, not 1e-320"),
        ("normal", "nu0=1e300", "nu0 must be between 1 + 1e-09 and 1 + 1e+09, not 1e+300"),
        ("normal", "u0=" + 5000 * "[" + 5000 * "]", "is no list as in JSON"),
        ("normal", "u0=[[[[1]]]]", "--param u0: must be a number, a list, an array of numpy, or"),
    ],
)
def test_parameters(bits: Path, tmp_path: Path, likelihood: str, param: str, message: str) -> None:
    told = refused("cluster", bits, "--likelihood", likelihood, "--param", param, "-o", tmp_path / "out")
    assert message in told
    assert len(told) < 400
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--error-rate 1e-320", "--error-rate 9.99989e-321: out of range; expected the probability"),
        ("--precision 1e-308", "must be between 0.1, below which nearly all reads"),
        ("--precision 1e300", "--precision 1e+300: must be between 0.1"),
        (
            "--sweeps 99999999999999999999",
            "--sweeps 99999999999999999999: must be at most 10000: an iteration",
        ),
        ("--outlier-prob 1e-320", "must be 0, or between 1e-09 and 1 - 1e-09"),
        ("--concentration 1e301", "--concentration 1e+301: must be between 1e-300 and 1e+300"),
        ("--concentration-prior 1e-320,1", "both between 1e-09 and 1e+09"),
        (
            "--concentration 1e300 --concentration-prior 1,1e9",
            "its log density at the --concentration 1e+300, where chains start, is not finite",
        ),
        (
            "--prior finite --max-clusters 99999999999",
            "must be at most 1000000000: with more components use --prior dp",
        ),
        ("--threads 99999999999999999999", "must be at most 10000: at most one thread per chain is used"),
        ("--init random:99999999999999999999", "the number of clusters must have at most 9 digits"),
        ("--tumour-content 1e-320", "and at least 1e-09: no sample has enough reads"),
        ("--tumour-content 0.8±1e-320", "the standard deviation must be at least 1e-06"),
        ("--tumour-content ٠.٨", "not a number; expected a number or SAMPLE=number"),
    ],
)
def test_options_of_a_tumour(tmp_path: Path, options: str, message: str) -> None:
    table = write_tumour(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert message in refused("analyze", table, "-o", tmp_path / "out", *options.split())
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", list(BOUNDS))
def test_every_number_of_the_settings_has_two_bounds(name: str) -> None:
    least, most, reason = BOUNDS[name]
    others = {"sampler": "pgsm", "anchor_proposal": "uniform"} if name == "anchors" else {}
    for value in (least, most):
        Settings(**{name: value, **others})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"^`{name}` {least - 1}: must be at least {least}$"):
        Settings(**{name: least - 1})  # type: ignore[arg-type]
    with pytest.raises(UsageError) as raised:
        Settings(**{name: most + 1, **others})  # type: ignore[arg-type]
    assert str(raised.value) == f"`{name}` {most + 1}: must be at most {most}: {reason}"


NOT_WHOLE = ("60", "auto", 60.0, 60.5, np.float64(60), True, np.True_, 1j, [60], np.array([60, 61]))


@pytest.mark.parametrize("name", list(BOUNDS))
def test_every_number_of_the_settings_is_whole(name: str) -> None:
    is_chosen = getattr(Settings(), name) is None
    ending = ", or None, which is automatic" if is_chosen else ""
    for value in NOT_WHOLE if is_chosen else (*NOT_WHOLE, None):
        with pytest.raises(UsageError) as raised:
            Settings(**{name: value})  # type: ignore[arg-type]
        assert str(raised.value) == f"`{name}` {value!r}: must be a whole number{ending}"
    given = getattr(Settings(**{name: np.int16(2)}), name)  # type: ignore[arg-type]
    assert type(given) is int
    assert given == 2


@pytest.mark.parametrize("value", ["0.5", True, 1j, [0.5], 10**400])
def test_numbers_of_another_type(value: object) -> None:
    for kind, names in (
        (Settings, ("max_time", "resample_threshold")),
        (ModelOptions, ("outlier_prob",)),
        (SimulationOptions, ("depth", "missing", "error_rate", "absent", "subclonal", "artefacts")),
    ):
        for name in names:
            with pytest.raises(UsageError, match=f"^`{name}` .*: must be a number$"):
                kind(**{name: value})  # type: ignore[operator]
    with pytest.raises(UsageError, match=r"^`precision` "):
        ModelOptions(precision=value)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^`tumour_content` "):
        ModelOptions(tumour_content=[value])  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["x", "auto", 101.5, 101.0, True])
def test_whole_numbers_of_other_options(value: object) -> None:
    with pytest.raises(UsageError) as raised:
        ModelOptions(grid_size=value)  # type: ignore[arg-type]
    assert str(raised.value) == f"`grid_size` {value!r}: must be a whole number, or None, which is automatic"
    for name in ("mutations", "samples", "clusters"):
        with pytest.raises(UsageError, match=f"^`{name}` {value!r}: must be a whole number$"):
            SimulationOptions(**{name: value})  # type: ignore[arg-type]


def test_names_of_another_type() -> None:
    several = np.array(["x", "y"])
    for kind, names in (
        (Settings, ("sampler", "targets", "resampling", "anchor_proposal", "init")),
        (ModelOptions, ("genotype_prior", "density", "prevalence_prior")),
        (SimulationOptions, ("copy_numbers", "cluster_sizes", "prevalence_prior")),
    ):
        for name in names:
            for value in (3, several):
                with pytest.raises(UsageError, match=f"^`{name}` .*: must be one of "):
                    kind(**{name: value})  # type: ignore[operator]
    assert Settings(init=Path("labels.tsv")).init == "labels.tsv"  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["many", 1j, 10**400, [0.5, [0.5]], [[0.5], [0.5]]])
def test_numbers_of_samples(value: object) -> None:
    for name in ("purity", "precision"):
        with pytest.raises(UsageError, match=f"^`{name}` .*: must be one number for all samples"):
            SimulationOptions(samples=2, **{name: value})  # type: ignore[arg-type]
    assert SimulationOptions(**SimulationOptions().to_dict()).to_dict() == SimulationOptions().to_dict()


def test_numbers_of_numpy_are_taken() -> None:
    settings = Settings(max_time=np.float32(5), resample_threshold=np.float64(0.25))  # type: ignore[arg-type]
    assert (type(settings.max_time), settings.resample_threshold) == (float, 0.25)
    model = ModelOptions(precision=np.int64(200), grid_size=np.int64(101), outlier_prob=np.float64(0.1))  # type: ignore[arg-type]
    assert (type(model.precision), type(model.grid_size)) == (float, int)
    assert SimulationOptions(mutations=np.int64(9)).to_dict()["mutations"] == 9  # type: ignore[arg-type]


def test_priors_refuse_what_no_float_holds() -> None:
    for options in ({"concentration": 10**400}, {"shape": 10**400}, {"rate": 10**400}):
        with pytest.raises(UsageError, match=r"must be (a )?positive"):
            DirichletProcess(**options)


def test_bounds_themselves_are_taken() -> None:
    for precision in (0.1, 1e9, np.inf):
        ModelOptions(precision=precision)
    make_prior("dp", 1e-300, (1e-9, 1e9))
    make_prior("finite", 1.0, max_clusters=10**9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--seed 99999999999999999999", "--seed 99999999999999999999: must be at most"),
        ("--samples 99999999999999999999", "--samples 99999999999999999999: must be at most 1,000,000"),
        ("--precision 1e300", "--precision 1e+300: must be at most 1e+09, or inf for the binomial"),
        ("--purity 1e-320", "and at least 1e-09: no sample has enough reads"),
        ("--error-rate 1e-320", "and at least 1e-09: no sample has enough reads"),
    ],
)
def test_simulations(tmp_path: Path, options: str, message: str) -> None:
    assert message in refused("simulate", "-o", tmp_path / "out", *options.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("factor", "named"), [("prior", "`prior` dp"), ("likelihood", "`likelihood` 'normal' `parameters` r0=2")]
)
def test_a_joint_density_that_is_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: str, named: str
) -> None:
    """Whatever it comes from, the first iteration tells, before a file is written."""
    module, patched = (
        (chain, "log_prior") if factor == "prior" else (hyperparameters, "partition_log_likelihood")
    )
    monkeypatch.setattr(module, patched, lambda *_: np.nan)
    with pytest.raises(UsageError) as raised:
        run_matrix(tmp_path / "t.h5", parameters={"r0": 2.0})
    assert str(raised.value).startswith(named)
    told = f": the log joint density is nan in iteration 1, because of the {factor}; choose other values"
    assert str(raised.value).endswith(told)
    assert not list(tmp_path.iterdir())


def test_a_later_density_keeps_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = chain._log_joint

    def soon_infinite(log_prior: float, log_likelihood: float, iteration: int) -> float:
        return real(log_prior, log_likelihood if iteration < 40 else np.inf, iteration)

    monkeypatch.setattr(chain, "_log_joint", soon_infinite)
    many_segments(monkeypatch)
    with pytest.raises(UsageError, match="the log joint density is inf in iteration 40"):
        run_matrix(tmp_path / "t.h5", chains=1, threads=1)
    with Trace(tmp_path / "t.h5") as trace:
        assert 0 < len(trace.chains[0].iteration) < 40


def matrix(*columns: list[float]) -> DataMatrix:
    values = np.array(columns).T
    names = [f"x{d}" for d in range(1, len(columns) + 1)]
    return DataMatrix([str(row) for row in range(len(values))], names, values)


def test_large_values_are_standardised_or_refused() -> None:
    rng = np.random.default_rng(0)
    column = rng.normal(size=20)
    scaled, units = standardise(matrix((1e200 * column).tolist(), column.tolist()))
    np.testing.assert_allclose(scaled.values[:, 0], scaled.values[:, 1], rtol=1e-12)
    assert units["sd"][0] == pytest.approx(1e200 * column.std())
    plain = (column - column.mean()) / column.std()
    np.testing.assert_array_equal(scaled.values[:, 1], plain)
    with pytest.raises(DataValueError) as raised:
        standardise(matrix(column.tolist(), [1e200, *column[1:]]))
    assert (raised.value.row, raised.value.column) == (0, 1)


def test_the_command_names_the_value_that_flattens_a_column(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(9)) + "9,1e200\n")
    told = refused("cluster", path, "--likelihood", "normal", "--standardise", "-o", tmp_path / "out")
    assert f"{path}, row 11, column b: '1e+200': expected a value nearer to its column's others" in told


def test_summaries_have_a_largest_burn_in(tmp_path: Path) -> None:
    trace = run_matrix(tmp_path / "t.h5", iterations=8, burn_in=2, chains=1)
    told = refused("summarize", trace, "-o", tmp_path / "out", "--burn-in", 10**20)
    assert f"--burn-in {10**20}: must be at most" in told
    told = refused("resume", trace, "--iterations", 10**20)
    assert f"--iterations {10**20}: must be at most" in told


# Files


@pytest.mark.parametrize("character", ["\x85", "\x9b", "\x80", "\x9f", "\x07", "\u2028", "\u200b"])
def test_control_characters_in_names(tmp_path: Path, character: str) -> None:
    table = tmp_path / "t.tsv"
    table.write_text(f"{HEADER}m{character}1\tS\t30\t10\t2\t1\t2\n")
    with pytest.raises(InputError, match=r"row 2, column mutation_id.*control characters"):
        read_tables(table)
    table.write_text(f"{HEADER}m1\tS{character}x\t30\t10\t2\t1\t2\n")
    with pytest.raises(InputError, match=r"row 2, column sample_id.*control characters"):
        read_tables(table)
    segments = tmp_path / "s.tsv"
    segments.write_text(f"sample\tchrom\tstart\tend\tmajor_cn\tminor_cn\nS{character}x\t1\t1\t9\t1\t1\n")
    with pytest.raises(InputError, match="control characters"):
        read_segments(segments)
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"patient_id,sample_id,mutations,segments\nP{character}1,S{character}1,m.vcf,s.tsv\n")
    with pytest.raises(
        InputError, match=r"(?s)patient_id.*cannot be the name of a folder.*sample_id.*control"
    ):
        read_sheet(sheet)
    numbers = tmp_path / "n.csv"
    numbers.write_text(f"id,a\nr{character}1,1\nr2,2\n")
    with pytest.raises(InputError, match="control characters"):
        read_matrix(numbers)


def test_annotations_lose_control_characters(tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text(f"{HEADER.strip()}\tgene\nm1\tS\t30\t10\t2\t1\t2\tTP\x9b31m\x1b53\n")
    observations, _ = read_tables(table)
    assert observations.annotations["gene"] == ["TP 31m 53"]


@pytest.mark.parametrize("copies", ["-1", "-1.0", "-2"])
def test_whole_copy_numbers_below_0(tmp_path: Path, copies: str) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(f"chrom\tstart\tend\tmajor_cn\tminor_cn\n1\t1\t9\t1\t0\n1\t10\t19\t2\t{copies}\n")
    with pytest.raises(InputError) as raised:
        read_segments(path)
    assert str(raised.value).startswith(
        f"{path}, row 3, column minor_cn: '{copies}': negative; expected a copy number"
    )


def test_fits_a_little_below_0_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text("chrom\tstart\tend\tmajor_cn\tminor_cn\n1\t1\t9\t1.9\t-0.2\n")
    assert read_segments(path).table["minor_cn"].tolist() == [0]


def test_fields_of_any_length(tmp_path: Path) -> None:
    assert csv.field_size_limit() > 10**9
    table = tmp_path / "t.tsv"
    name = "1:100:A:" + "ACGT" * 50_000
    table.write_text(f"{HEADER}{name}\tS\t30\t10\t2\t1\t2\n")
    observations, _ = read_tables(table)
    assert observations.mutation_ids == [name]


def test_long_alleles_of_a_vcf(tmp_path: Path) -> None:
    names = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS"
    (tmp_path / "m.vcf").write_text(
        f"##fileformat=VCFv4.2\n{names}\n1\t100\t.\tA\tA{'CG' * 100_000}\t.\tPASS\t.\tAD\t30,10\n"
    )
    (tmp_path / "s.tsv").write_text("chrom\tstart\tend\tmajor_cn\tminor_cn\n1\t1\t1000\t1\t1\n")
    result = CliRunner().invoke(cli.app, ["validate", str(tmp_path / "m.vcf"), "-c", str(tmp_path / "s.tsv")])
    assert result.exit_code == 0, result.output
    assert "1 mutation with data" in result.stdout


@pytest.mark.parametrize("content", ["٠.٨", "0_8.0", "0.8±٠.٠٥"])
def test_sheets_take_the_digits_that_tables_take(tmp_path: Path, content: str) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"sample_id,mutations,segments,tumour_content\nS,m.vcf,s.tsv,{content}\n")
    with pytest.raises(InputError, match="row 2, column tumour_content"):
        read_sheet(sheet)
    with pytest.raises(UsageError):
        parse_tumour_content([content])


def test_a_patient_with_a_name_too_long_for_a_folder(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"patient_id,sample_id,mutations,segments\n{'P' * 300},S,m.vcf,s.tsv\n")
    told = refused("prepare", "--samples", sheet, "-o", tmp_path / "out")
    assert f"{sheet}, row 2, column patient_id" in told
    assert "too long for the name of a folder" in told
    assert not (tmp_path / "out").exists()


def test_the_reason_why_a_folder_cannot_be_made_on_a_read_only_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for flag, reason in ((os.ST_RDONLY, "Read-only file system"), (0, "Permission denied")):
        monkeypatch.setattr(os, "statvfs", lambda path, flag=flag: SimpleNamespace(f_flag=flag))
        with pytest.raises(OutputError, match=f"the folder cannot be made: {reason}"):
            check_new(tmp_path / "new" / "file", force=False)


def test_no_part_of_a_folder_stays_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="the folder cannot be made"):
        make_folder(tmp_path / "new" / "other" / ("x" * 300))
    assert not list(tmp_path.iterdir())
    table = write_tumour(tmp_path / "data")
    assert "File name too long" in refused(
        "analyze", table, "-o", tmp_path / "new" / ("x" * 300), "--iterations", 4
    )
    assert not (tmp_path / "new").exists()


def test_parquet_whose_metadata_are_damaged(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    table = pa.table({"a": [1.0, 2.0]})
    for noted in (b"{", b"[1]", b'{"index_columns": 3}', b"\xff", b"[" * 100_000):
        parquet.write_table(table.replace_schema_metadata({b"pandas": noted}), path)
        with pytest.raises(InputError, match="the Parquet file is damaged"):
            read_matrix(path)
    parquet.write_table(table, path)
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            read_matrix(path)
        except (InputError, UsageError):
            continue


def test_names_that_parquet_has_as_bytes(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"name": [b"r\xc3\xa9", b"s"], "a": [1.0, 2.0]}), path)
    for id_column in (None, "name"):
        found = read_matrix(path, id_column)
        assert (found.row_names, found.column_names) == (["ré", "s"], ["a"])
    parquet.write_table(pa.table({"name": [b"\xff", b"s"], "a": [1.0, 2.0]}), path)
    with pytest.raises(InputError, match=r"row 1, column name.*not UTF-8"):
        read_matrix(path)
    parquet.write_table(pa.table({"name": [[1], [2]], "a": [1.0, 2.0]}), path)
    with pytest.raises(InputError, match="expected texts or numbers"):
        read_matrix(path, "name")


def test_deep_json_is_no_matter_of_this_interpreter() -> None:
    """The limit is on the text, not what this version of Python can recurse into."""
    from pyclone_pgsm.analyses.matrix_input import plain_parameters
    from pyclone_pgsm.cli.parsing import parse_parameters

    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(50_000)
        with pytest.raises(UsageError, match="more than 3 dimensions"):
            plain_parameters(parse_parameters([f"u0={'[' * 5000}{']' * 5000}"]))
    finally:
        sys.setrecursionlimit(before)
    assert parse_parameters(["S0=[[1,0],[0,1]]", "r0=2"]) == {"S0": json.loads("[[1,0],[0,1]]"), "r0": 2}
