"""Samples in which no mutation is present, or has any reads."""

from collections.abc import Iterator
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, pdtr, pdtrc

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.problems import listed

LEAST_MUTATIONS = 5
"""Samples, and groups of samples, with fewer mutations than this are not checked."""

OF_ERRORS, OF_TUMOUR, UNLIKELY = 0.003, 0.01, 0.01
"""No mutation is present in a sample if errors of the first rate explain the variant reads, those of each mutation and
all together, and if mutations of the second mean frequency would give as few with less than the third probability."""


def without_mutations(alt_counts: NDArray[np.int64], depth: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (D,) in which samples no mutation is present, by variant reads and depths (T, D); none if in all."""
    reads, total, num_counted = alt_counts.sum(axis=0), depth.sum(axis=0), (depth > 0).sum(axis=0)
    by_errors = bdtrc(np.maximum(alt_counts - 1, 0), np.maximum(depth, 1), OF_ERRORS)
    explained = ((alt_counts == 0) | (by_errors * num_counted > UNLIKELY)).all(axis=0)
    explained &= (reads == 0) | (pdtrc(np.maximum(reads - 1, 0), OF_ERRORS * total) > UNLIKELY)
    found = explained & (num_counted >= LEAST_MUTATIONS) & (pdtr(reads, OF_TUMOUR * total) < UNLIKELY)
    return found & ~found.all()


def normal_samples(observations: Observations) -> Iterator[str]:
    """Suspect samples of normal cells, in which no mutation is present."""
    known = observations.has_data
    found = without_mutations(
        np.where(known, observations.alt_counts, 0), np.where(known, observations.depth, 0)
    )
    if found.any():
        yield (
            "is a normal sample among those of the tumour? No mutation is present in "
            f"{listed(list(compress(observations.sample_ids, found)))}: errors explain the variant reads. No cluster "
            "can be clonal there, so that the tumour has no trunk; leave out what has no tumour cells"
        )


def without_reads(observations: Observations) -> Iterator[str]:
    """Warn of samples without any reads."""
    num_counted = (observations.has_data & (observations.depth > 0)).sum(axis=0)
    if samples := list(compress(observations.sample_ids, num_counted == 0)):
        yield (
            f"no mutation has reads in {listed(samples)}: the prevalences there are those of the prior, and tell "
            "nothing about the tumour; leave it out, or look for its reads"
        )
