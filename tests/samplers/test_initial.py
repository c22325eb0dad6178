"""Where a chain starts."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.labels import read_labels
from pyclone_pgsm.samplers.initial import check_clusters, check_init, initial_labels, is_file

NAMES = ["a", "b", "c", "d"]


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def write(folder: Path, text: str) -> Path:
    path = folder / "labels.tsv"
    path.write_bytes(text.encode())
    return path


def test_single_and_disconnected() -> None:
    for init, expected in (("single", [0, 0, 0]), ("disconnected", [0, 1, 2])):
        labels = initial_labels(init, 3, rng())
        assert labels.dtype == np.int32
        assert labels.tolist() == expected


@pytest.mark.parametrize(("init", "num_clusters"), [("random", 10), ("random:10", 10), ("random:3", 3)])
def test_random_clusters_are_of_equal_size_on_average(init: str, num_clusters: int) -> None:
    labels = initial_labels(init, 30_000, rng())
    assert labels.dtype == np.int32
    assert np.unique(labels, return_index=True)[1].tolist() == sorted(np.unique(labels, return_index=True)[1])
    sizes = np.bincount(labels, minlength=num_clusters)
    assert len(sizes) == num_clusters
    mean = 30_000 / num_clusters
    assert abs(sizes - mean).max() < 5 * np.sqrt(mean)
    assert initial_labels(init, 30_000, rng()).tolist() == labels.tolist()


def test_random_starts_differ_and_others_leave_the_generator_alone() -> None:
    generator = rng()
    first, second = (initial_labels("random:4", 50, generator).tolist() for _ in range(2))
    assert first != second
    before = generator.bit_generator.state
    initial_labels("single", 5, generator)
    initial_labels("disconnected", 5, generator)
    initial_labels([3, 1], 2, generator)
    assert generator.bit_generator.state == before


def test_more_clusters_than_observations() -> None:
    labels = initial_labels("random:1000000", 5, rng())
    assert labels.max() < 5


def test_more_random_clusters_than_observations_are_refused() -> None:
    for init in ("single", "random", "apart", "disconnected", "random:21", "labels:30.tsv"):
        check_clusters(init, 21)
    with pytest.raises(
        UsageError, match="`init` random:22: more clusters than the 21 observations; use at most"
    ):
        check_clusters("random:22", 21)


def test_labels_as_an_array() -> None:
    given = np.array([7, -1, 7, 2**40])
    assert initial_labels(given, 4, rng()).tolist() == [0, 1, 0, 2]
    assert given.tolist() == [7, -1, 7, 2**40]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 2], "`start_labels`: must be one for each of 3 observations, not 2"),
        ([[1, 2, 3]], "`start_labels`: must be one for each of 3 observations, not 1 x 3"),
        (5, "`start_labels`: must be one for each of 3 observations, not 1 number"),
        ([1.0, 2.0, 3.0], "`start_labels`: must be integers, not float64"),
    ],
)
def test_labels_that_do_not_fit(labels: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        initial_labels(labels, 3, rng())  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "init", ["", "  ", "random:", "random:0", "random:00", "random:-2", "random:x", "random:2.5"]
)
def test_starts_that_mean_nothing(init: str) -> None:
    expected = (
        f"`init` {init!r}: must be one of single, disconnected, random, random:K with K clusters, apart (each chain in "
        "another way), or a file "
    )
    for refuse in (check_init, lambda text: initial_labels(text, 3, rng())):
        with pytest.raises(UsageError) as caught:
            refuse(init)
        assert str(caught.value) == expected + "with a column cluster_id"


def test_a_file_is_whatever_has_no_other_meaning() -> None:
    for init in ("single", "disconnected", "random", "random:7"):
        check_init(init)
        assert not is_file(init)
    for init in ("start.tsv", "./single", "randomly"):
        check_init(init)
        assert is_file(init)
        with pytest.raises(UsageError, match="must be one of single"):
            initial_labels(init, 3, rng())


@pytest.mark.parametrize(
    "text",
    [
        "mutation_id\tcluster_id\na\t5\nb\tx\nc\t5\nd\t0\n",
        "mutation_id,label\nd,zero\nc,1\na,1\nb,two\n",
        "name;cluster\nb;2\na;1\nd;0\nc;1",
        "cluster_id\tsample_id\tmutation_id\n1\ts\ta\n2\ts\tb\n1\ts\tc\n0\ts\td\n1\tr\tc\n",
        "label\tcluster\tcluster_id\na\tx\t5\nb\tx\t6\nc\tx\t5\nd\tx\t7\n",
        "cluster\n5\n6\n\n5\n7",
        "# my labels\r\nlabel\r\n5\r\n6\r\n5\r\n7\r\n",
        "cluster_id\tdepth\n5\t9\n6\t9\n5\t9\n7\t9\n",
        ",cluster\nd,0\na,5\nb,x\nc,5\n",
        ",,cluster,,\nd,9,0,,\na,9,5,,\nb,9,x,,\nc,9,5,,\n",
        ",cluster,mutation_id\n0,5,a\n1,6,b\n2,5,c\n3,7,d\n",
    ],
)
def test_labels_from_a_file(tmp_path: Path, text: str) -> None:
    labels = read_labels(write(tmp_path, text), NAMES)
    assert labels.dtype == np.int32
    assert labels.tolist() == [0, 1, 0, 2]


def test_the_table_of_an_earlier_run(tmp_path: Path) -> None:
    """One row a mutation and sample, the first columns of which are PyClone-VI's."""
    path = tmp_path / "mutations.tsv.gz"
    rows = ["mutation_id\tsample_id\tcluster_id\tcellular_prevalence\tgene"]
    for name, cluster in zip("dcba", (4, 2, 0, 2)):
        rows += [f"{name}\t{sample}\t{cluster}\t0.5\t" for sample in ("first", "second")]
    path.write_bytes(gzip.compress("\n".join(rows).encode(), mtime=0))
    assert read_labels(path, NAMES).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "mutation_id\tcluster_id\na\t1\nb\t2\nd\t2\n",
            [": no row for 1 of the 4 observations: 'c'"],
        ),
        (
            "mutation_id\tcluster_id\na\t1\nb\t2\nA\t1\nc\t2\nd\t2\n",
            [", row 4, column mutation_id: 'A': not one of the observations"],
        ),
        (
            "mutation_id\tcluster_id\na\t1\nb\t2\nc\t2\nd\t2\nb\t3\nb\t2\n",
            [", row 6, column cluster_id: '3': row 3 has b in cluster 2; one is expected"],
        ),
        (
            "mutation_id\tcluster\na\t1\nb\tNA\nc\t\nd\t2\n",
            [
                ", row 3, column cluster: 'NA': a cluster is expected",
                ", row 4, column cluster: '': a cluster is expected",
            ],
        ),
        (
            "mutation_id\tcluster\na\t#N/A\nb\t.\nc\t-\nd\t-1\n",
            [
                ", row 2, column cluster: '#N/A': a cluster is expected",
                ", row 3, column cluster: '.': a cluster is expected",
                ", row 4, column cluster: '-': a cluster is expected",
            ],
        ),
        (
            ",cluster\na,1\nb,2\nc,1\nd,1\n4,1\n",
            [", row 6, column (first): '4': not one of the observations"],
        ),
        (
            "mutation_id\tgroup\na\t1\n",
            [
                ", row 1: one of the columns cluster_id, cluster, label is expected; "
                "the header has 'mutation_id', 'group'"
            ],
        ),
        (
            "group\n1\n",
            [", row 1: one of the columns cluster_id, cluster, label is expected; the header has 'group'"],
        ),
        (
            "cluster\n1\n2\n",
            [": 2 rows found, 4 expected: one for each observation, as there is no column with their names"],
        ),
        (
            "mutation_id\tcluster_id\na\t1\t5\nb\t2\n",
            [", row 2: 3 fields found, 2 expected as in the header"],
        ),
        ("mutation_id\tcluster_id\n", [", row 1: the table has no rows below the header"]),
        ("", [": the file is empty: a header with the column names is expected"]),
    ],
)
def test_a_file_that_does_not_fit(tmp_path: Path, text: str, problems: list[str]) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_labels(path, NAMES)
    assert str(caught.value).split("\n") == [f"{path}{problem}" for problem in problems]


def test_many_missing_and_unknown_observations_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "mutation_id\tcluster_id\n" + "".join(f"x{i}\t1\n" for i in range(5000)))
    with pytest.raises(InputError) as caught:
        read_labels(path, [f"y{i}" for i in range(6000)])
    lines = str(caught.value).split("\n")
    assert (
        lines[0]
        == f"{path}: no row for 6000 of the 6000 observations: 'y0', 'y1', 'y2', 'y3', 'y4' and 5995 more"
    )
    assert lines[1] == f"{path}, row 2, column mutation_id: 'x0': not one of the observations"
    assert lines[-1] == "... and 4981 more problems"


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.tsv: no such file"):
        read_labels(tmp_path / "nowhere.tsv", NAMES)


def test_a_directory_is_no_table_of_labels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a directory; expected is a table with a column cluster_id"):
        read_labels(tmp_path, NAMES)
