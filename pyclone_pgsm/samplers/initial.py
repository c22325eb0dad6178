"""First state of a chain: one cluster, every observation alone, K random clusters, or given labels."""

import re

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.ranges import refuse

INITS = (
    "single, disconnected, random, random:K with K clusters, apart (each chain in another way), or a file with a "
    "column cluster_id"
)
RANDOM_CLUSTERS = 10
MOST_DIGITS = 9


def is_file(init: str) -> bool:
    """Whether `init` is the path of a file of labels, that is, none of the named starts."""
    return init not in ("single", "disconnected", "random", "apart") and not init.startswith("random:")


def check_init(init: object) -> None:
    """Check a start, which is given as text.

    Raises
    ------
    UsageError
        It is no text or an empty one, or the K of random:K is not a number above 0.
    """
    if not isinstance(init, str):
        refuse("init", init, f"one of {INITS}")
    if not init.strip() or (init.startswith("random:") and not re.fullmatch("random:0*[1-9][0-9]*", init)):
        raise UsageError(f"`init` {init!r}: must be one of {INITS}")
    number = init.removeprefix("random:").lstrip("0")
    if init.startswith("random:") and len(number) > MOST_DIGITS:
        raise UsageError(
            f"`init` {init[:40]}: the number of clusters must have at most {MOST_DIGITS} digits: no data set has more "
            "observations"
        )


def check_clusters(init: str, num_observations: int) -> None:
    """Raise UsageError if a valid start is random:K with a K above the number of observations."""
    number = "" if is_file(init) else init.partition(":")[2]
    if number and int(number) > num_observations:
        raise UsageError(
            f"`init` {init}: more clusters than the {num_observations:,} observations; use at most "
            f"random:{num_observations}"
        )


def initial_labels(
    init: str | ArrayLike, num_observations: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return the labels of a chain's first state.

    Parameters
    ----------
    init : {"single", "disconnected", "random", "random:K"} or (T,) array of int
        One block; every observation alone; each observation in one of K (default 10) clusters with the same
        probability; or the labels themselves, as from :func:`~pyclone_pgsm.inputs.labels.read_labels`.
    num_observations : int
        T.
    rng : numpy.random.Generator
        Only used by random starts.

    Returns
    -------
    (T,) int32
        Blocks 0, 1, .. in order of first appearance.

    Raises
    ------
    UsageError
        `init` is not a valid start, or the labels are not T integers.
    """
    if not isinstance(init, str):
        return _checked_labels(np.asarray(init), num_observations)
    check_init(init)
    if init == "single":
        return np.zeros(num_observations, np.int32)
    if init == "disconnected":
        return np.arange(num_observations, dtype=np.int32)
    if is_file(init):
        raise UsageError(f"`init` {init!r}: must be one of {INITS}")
    num_clusters = int(init.partition(":")[2] or RANDOM_CLUSTERS)
    return canonical(rng.integers(num_clusters, size=num_observations)).astype(np.int32)


def _checked_labels(labels: NDArray, num_observations: int) -> NDArray[np.int32]:
    if labels.shape != (num_observations,):
        shape = " x ".join(map(str, labels.shape)) or "1 number"
        raise UsageError(
            f"`start_labels`: must be one for each of {num_observations} observations, not {shape}"
        )
    if labels.dtype.kind not in "iu":
        raise UsageError(f"`start_labels`: must be integers, not {labels.dtype}")
    return canonical(labels).astype(np.int32)
