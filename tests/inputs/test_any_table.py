"""Properties: whatever the bytes, a result or the user's error; what is written comes back."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.read_counts.tables import count_summary, read_tables

COLUMNS = ["mutation_id", "sample_id", "ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn"]
HEADER = "\t".join(COLUMNS).encode()
ROW = b"m1\tS1\t10\t5\t1\t1\t2"

PIECES = st.sampled_from(
    [
        HEADER, ROW, ROW, b"\n", b"\r", b"\t", b",", b";", b'"', b"#", b"0", b"-1", b"1e400", b"nan", b" ",
        b"\0",
        b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"\x1f\x8b\x08\x00", b"m2", b"tumour_content", b"\tvar_counts",
        b"\xe2\x80\xa8", b"\x1a", b"\x0c",
    ]
)  # fmt: skip
CONTENT = st.one_of(
    st.binary(max_size=200),
    st.lists(st.one_of(PIECES, st.binary(max_size=3)), max_size=20).map(b"".join),
    st.lists(PIECES, max_size=8).map(lambda pieces: HEADER + b"\n" + ROW + b"\n" + b"".join(pieces)),
    st.lists(PIECES, max_size=6).map(lambda pieces: gzip.compress(b"".join(pieces), mtime=0)),
)


def read_content(content: bytes) -> Observations:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.tsv"
        path.write_bytes(content)
        return read_tables([path])[0]


@settings(max_examples=400, deadline=None)
@given(content=CONTENT)
def test_any_bytes(content: bytes) -> None:
    try:
        observations = read_content(content)
    except InputError:
        return
    assert observations.has_data.any(axis=1).all()
    assert (observations.depth[observations.has_data] > 0).all()
    assert count_summary(observations, [])


@settings(max_examples=200, deadline=None)
@given(
    content=st.binary(max_size=300).map(lambda noise: gzip.compress(HEADER + b"\n" + ROW + noise, mtime=0)),
    damage=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 400),
)
def test_any_damage_to_gzip(content: bytes, damage: list[tuple[int, int]], cut: int) -> None:
    damaged = bytearray(content[: max(2, cut)])
    for place, byte in damage:
        damaged[place % len(damaged)] = byte
    with contextlib.suppress(InputError):
        read_content(bytes(damaged))


ids = (
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
)
counts = st.one_of(st.integers(0, 200), st.integers(0, 2**31 - 1))


@st.composite
def observed(draw: st.DrawFn) -> tuple[list[list[str]], dict[tuple[str, str], list[int]]]:
    mutations = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    samples = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    cells = draw(st.permutations([(mutation, sample) for mutation in mutations for sample in samples]))
    kept = cells[: draw(st.integers(1, len(cells)))]
    rows = {}
    for cell in kept:
        minor, extra = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        rows[cell] = [draw(counts), draw(counts), minor + extra, minor, draw(st.integers(1, 3))]
    spell = draw(st.sampled_from([str, "{}.0".format, "{}.".format, " {}".format]))
    return [[*cell, *map(spell, numbers)] for cell, numbers in rows.items()], rows


@settings(max_examples=200, deadline=None)
@given(
    observed(),
    st.sampled_from("\t,;"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.booleans(),
)
def test_round_trip(
    drawn: tuple[list[list[str]], dict[tuple[str, str], list[int]]],
    separator: str,
    line_end: str,
    quoting: int,
    packed: bool,
) -> None:
    texts, rows = drawn
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=separator, lineterminator=line_end, quoting=quoting).writerows(
        [COLUMNS, *texts]
    )
    content = written.getvalue().encode()
    usable = {cell for cell, (ref, alt, major, _, _) in rows.items() if ref + alt > 0 and major > 0}
    if packed:
        content = gzip.compress(content, mtime=0)
    if not usable:
        with pytest.raises(InputError, match="has data in any sample"):
            read_content(content)
        return
    observations = read_content(content)
    assert observations.sample_ids == list(dict.fromkeys(sample for _, sample in rows))
    assert observations.mutation_ids == list(
        dict.fromkeys(mutation for mutation, _ in rows if any(mutation == kept for kept, _ in usable))
    )
    for i, mutation in enumerate(observations.mutation_ids):
        for d, sample in enumerate(observations.sample_ids):
            assert observations.has_data[i, d] == ((mutation, sample) in usable)
            if (mutation, sample) in rows:
                found = [
                    getattr(observations, name)[i, d]
                    for name in ("ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn")
                ]
                assert np.array_equal(found, rows[mutation, sample])
