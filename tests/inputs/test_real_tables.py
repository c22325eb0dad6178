"""Public data in both layouts, where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pyclone_pgsm.inputs.read_counts.tables import read_tables

DATA = Path(
    os.environ.get("PYCLONE_PGSM_TEST_DATA") or Path(__file__).resolve().parents[2].parent / "shared" / "data"
)


def data(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no test data: {name}")
    return path


def test_mixing_one_file_a_sample() -> None:
    paths = sorted(data("pyclone_mixing/tsv").glob("*.tsv"))
    observations, left_out = read_tables(paths)
    assert observations.sample_ids == ["SRR385938", "SRR385939", "SRR385940", "SRR385941"]
    assert observations.has_data.sum(axis=0).tolist() == [134, 141, 140, 141]
    assert observations.has_data.all(axis=1).sum() == 133
    assert observations.num_mutations == 144
    assert left_out == []
    place = observations.mutation_ids.index("NA12156:BB:chr2:175263063")
    assert observations.ref_counts[place, [0, 2]].tolist() == [3812, 2572]
    assert observations.alt_counts[place, [0, 2]].tolist() == [14, 486]


def test_mixing_long() -> None:
    observations, left_out = read_tables([data("pyclone_mixing/mixing.tsv")])
    assert (observations.num_mutations, observations.num_samples) == (136, 4)
    assert observations.has_data.sum() == 544
    assert left_out == []
    assert observations.mutation_ids[0] == "NA12156,NA12878,NA18507,NA19240:chr10:43613843"
    assert (observations.ref_counts[0, 0], observations.alt_counts[0, 0]) == (2, 2860)


def test_tracerx() -> None:
    observations, left_out = read_tables([data("tracerx_pyclonevi/CRUK0001.tsv")])
    assert (observations.num_mutations, observations.num_samples) == (2458, 3)
    used = [observations.tumour_content[observations.has_data[:, d], d] for d in range(3)]
    assert [np.unique(content).tolist() for content in used] == [[0.21], [0.14], [0.11]]
    assert observations.has_data.sum() == 7356
    assert left_out == []


def test_synthetic() -> None:
    observations, left_out = read_tables([data("pyclonevi_synthetic/synthetic.tsv")])
    assert (observations.num_mutations, observations.num_samples) == (100, 4)
    assert observations.has_data.all()
    assert left_out == []
    assert observations.major_cn[0].tolist()[:2] == [3, 2]
