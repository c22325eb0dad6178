"""Local dependence: binary columns that are associated within clusters, although the likelihood has them independent.

In the right clusters n r^2 of two columns, n times their squared correlation among the n rows of a cluster, follows
about a chi-square distribution of one degree of freedom. Clusters that were joined show by pairs of columns far above
it (bivariate residuals of latent class analysis: Vermunt & Magidson 2005).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrc

from pyclone_pgsm.likelihoods.parameters import column_at, evenly_spaced

LEAST_EXPECTED = 5.0
"""Pairs are examined if chance alone would give so many rows in each cell of their table of two times two."""
ASSOCIATED, SHARE_BY_CHANCE = 15.0, 1.075e-4
"""A pair with a larger n r^2 is associated, and the probability of this without dependence."""
LEAST_PAIRS, LEAST_PROBABILITY = 5, 1e-6
"""A warning is given for so many associated pairs, if chance would lead to as many with a smaller probability."""
MOST_ROWS, MOST_COLUMNS = 2000, 1000
"""Of more rows in a cluster, or of more columns, evenly spaced ones are examined."""


def associations(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return n r^2 (D, D) of the columns of a cluster (n, D); NaN in the lower triangle and for pairs not examined."""
    n, D = x.shape
    share = x.mean(axis=0)
    rarer = np.minimum(share, 1.0 - share)
    centred = x - share
    found = np.full((D, D), np.nan)
    i, j = np.nonzero(np.triu(n * np.outer(rarer, rarer) >= LEAST_EXPECTED, 1))
    norm = np.sqrt(n * share * (1.0 - share))
    found[i, j] = n * ((centred.T @ centred)[i, j] / (norm[i] * norm[j])) ** 2
    return found


def doubts_of_independence(x: NDArray[np.float64], labels: NDArray[np.int64]) -> list[str]:
    """Warn if many pairs of the binary columns of the data (T, D) are associated within clusters ``labels`` (T,)."""
    columns = evenly_spaced(x.shape[1], MOST_COLUMNS)
    number, expected, largest, strongest = 0, 0.0, 0.0, ""
    for k in np.unique(labels[labels >= 0]).tolist():
        members = np.flatnonzero(labels == k)
        if len(members) < 4 * LEAST_EXPECTED:  # no pair is examined
            continue
        members = members[evenly_spaced(len(members), MOST_ROWS)]
        found = associations(x[np.ix_(members, columns)])
        number += int(np.count_nonzero(found > ASSOCIATED))
        expected += SHARE_BY_CHANCE * np.count_nonzero(~np.isnan(found))
        if np.nanmax(found, initial=0.0) > largest:
            largest = float(np.nanmax(found))
            i, j = np.unravel_index(np.nanargmax(found), found.shape)
            strongest = f"{column_at(columns[i])} and {column_at(columns[j])} in cluster {k}"
    if number < LEAST_PAIRS or pdtrc(number - 1, expected) > LEAST_PROBABILITY:
        return []
    return [
        f"{number} pairs of columns are associated within clusters, where chance explains {expected:.2g}; strongest: "
        f"{strongest}. The likelihood has them independent: clusters that plainly differ may "
        "be joined, as happens with many columns that do not distinguish clusters (leave these out), or columns "
        "depend on each other"
    ]
