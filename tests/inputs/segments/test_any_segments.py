"""Properties: whatever the bytes, segments or the user's error, and a join or the user's error."""

from __future__ import annotations

import contextlib
import gzip
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from segment_files import FILES, variants

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.inputs.segments.formats import FORMATS
from pyclone_pgsm.inputs.segments.joining import join
from pyclone_pgsm.inputs.segments.model import Segments
from pyclone_pgsm.inputs.segments.reading import read_segments

CONTENTS = [content.encode() for _, content in FILES.values()]
HEADERS = [content.split(b"\n")[0] for content in CONTENTS]
MUTATIONS = variants(("1", 1001), ("1", 2001), ("X", 101), ("X", 5_000_000), ("Y", 5), ("MT", 5), ("GL1", 5))
PIECES = st.sampled_from(
    [
        *HEADERS, b"\n", b"\r", b"\t", b",", b";", b" ", b'"', b"#", b"0", b"-1", b"1e400", b"nan", b"NA", b"0.5", b"X",
        b"chrM", b"24", b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"9999999999", b"2147483647", b"1001", b"\x0c",
    ]
)  # fmt: skip
VALUES = st.sampled_from(
    [b"", b"NA", b"0", b"1", b"2", b"3", b"-1", b"0.5", b"1.0", b"1e3", b"2147483647", b"X", b"chr1", b"Y", b"MT", b"S",
     b"2000", b"nan", b"inf", b'"1"', b'"', b"1 1", "é".encode(), b"9" * 400]
)  # fmt: skip


def read_and_join(content: bytes, name: str = "s.tsv", **options) -> None:
    """Read and join; errors of the user are results, too."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(PycloneError):
        path = Path(folder) / name
        path.write_bytes(content)
        segments = read_segments(path, **options)
        check(segments)
        for sex, fill_gaps in (("male", False), (None, True)):
            with contextlib.suppress(PycloneError):
                named = segments.named({(str(path), hint.sample_id): "S" for hint in segments.hints})
                table, left_out = join(MUTATIONS, named, sex=sex, tumour_content=0.9, fill_gaps=fill_gaps)
                assert (table["normal_cn"] > 0).all()
                assert (table["major_cn"] >= table["minor_cn"]).all()
                assert (table["minor_cn"] >= 0).all()
                changed = sum(item.reason.endswith("taken as diploid") for item in left_out)
                assert len(table) + len(left_out) - changed == len(MUTATIONS.table)


def check(segments: Segments) -> None:
    """What every table of segments keeps to."""
    table = segments.table
    assert (table["start"] <= table["end"]).all()
    assert (table["major_cn"] >= table["minor_cn"]).all()
    assert (table["fraction"].between(0, 1)).all()
    assert {(hint.file, hint.sample_id) for hint in segments.hints} == set(
        zip(table["file"], table["sample_id"])
    )
    assert len(segments.describe()) == len(segments.hints)


@settings(max_examples=120, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.lists(st.one_of(PIECES, st.binary(max_size=3)), max_size=30).map(b"".join),
        st.lists(PIECES, max_size=6).map(lambda pieces: gzip.compress(b"".join(pieces), mtime=0)),
    ),
    cn_format=st.sampled_from([None, *FORMATS]),
    prior=st.sampled_from(["major", "total"]),
)
def test_any_bytes(content: bytes, cn_format: str | None, prior: str) -> None:
    read_and_join(content, cn_format=cn_format, genotype_prior=prior)


@settings(max_examples=120, deadline=None)
@given(
    content=st.sampled_from(CONTENTS),
    damage=st.lists(st.tuples(st.integers(0, 500), PIECES, st.integers(0, 3)), max_size=4),
    prior=st.sampled_from(["major", "total"]),
)
def test_damaged_files(content: bytes, damage: list[tuple[int, bytes, int]], prior: str) -> None:
    """Something put in at some places, in place of a few bytes."""
    for place, piece, instead_of in damage:
        at = place % (len(content) + 1)
        content = content[:at] + piece + content[at + instead_of :]
    read_and_join(content, genotype_prior=prior)


@settings(max_examples=120, deadline=None)
@given(data=st.data(), content=st.sampled_from(CONTENTS), size=st.integers(1, 6))
def test_any_values(data: st.DataObject, content: bytes, size: int) -> None:
    """Rows of the right shape with any values, some of them from the file."""
    header, *rows = content.rstrip(b"\n").split(b"\n")
    separator = next(each for each in (b"\t", b",", b" ") if each in header)
    full = [header]
    for _ in range(size):
        row = data.draw(st.sampled_from(rows)).split(separator)
        changes = data.draw(st.lists(st.tuples(st.integers(0, len(row) - 1), VALUES), max_size=3))
        for place, value in changes:
            row[place] = value
        full.append(separator.join(row))
    read_and_join(b"\n".join(full))


@settings(max_examples=60, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=100),
        st.lists(
            st.sampled_from(
                [b"purity", b"cellularity", b"ploidy", b"gender", b"\t", b"\n", b"0.5", b"rho 1\n", b"x"]
            ),
            max_size=12,
        ).map(b"".join),
        st.binary(max_size=20).map(lambda noise: b"Normal contamination estimate:\t" + noise + b"\n"),
    )
)
def test_any_fit_beside(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(PycloneError):
        (Path(folder) / "S.purple.purity.tsv").write_bytes(content)
        path = Path(folder) / "S.purple.cnv.somatic.tsv"
        path.write_text(FILES["purple 3"][1])
        for hint in read_segments(path).hints:
            assert hint.purity is None or 0 < hint.purity <= 1
        read_segments([path, Path(folder) / "S.purple.purity.tsv"])
