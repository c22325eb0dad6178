"""Proposals of an error rate together with the prevalences near the current ones.

If all mutations of a cluster have a few variant reads, these may be errors, or the cluster may be present in few cells;
and the better the prevalences are known, the more they depend on the error rate. So an error rate e and the prevalence
of each block in each sample, a grid point k, change in one Metropolis-Hastings step:

1. Propose e' from q(e' | e).
2. In each block and sample draw k' from the points at most h steps from k, with probability w(k'; e') / Z'. Here
   w(k; e) is the mass of k under the base measure times the likelihood of the reads, and Z' the sum over these points.
3. Let Z be the sum of w(k; e) over the points at most h steps from k'. Accept e' and all k' with probability

       min(1, p(e') q(e | e') prod Z' / (p(e) q(e' | e) prod Z)).

The reverse step draws k from the points near k', so the posterior of error rate and prevalences is invariant. Where
nearly all of a prevalence's posterior is near k, a proposal is accepted as often as with the prevalences summed out,
but needs the likelihood at few points of the grid.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.likelihoods.choice import Choice, IndependenceProposal
from pyclone_pgsm.tumour.grid import Loci, Setting, xi_at_prevalences


def reach_of(grid_size: int) -> int:
    """Return h, a twenty-fifth of the grid, but three points at least."""
    return max(3, grid_size // 25)


class NearbyPrevalences:
    """The unknown prevalences of blocks, or of outliers, in samples, and the reads that depend on them.

    Attributes
    ----------
    points : (L,) int64
        The prevalences as grid points, one entry for each block, or outlier, and sample with reads.
    """

    def __init__(
        self,
        loci: Loci,
        index: NDArray[np.int32],
        points: NDArray[np.int64],
        blocks: NDArray[np.int64],
        log_masses: NDArray[np.float64],
        grid: NDArray[np.float64],
    ) -> None:
        """Group the reads of T mutations in D samples.

        `index` (T, D) has the row of each mutation in each sample, -1 where its reads are left out, and `points` (T, D)
        its prevalence. `blocks` (T,) are equal where prevalences are shared, and negative for outliers. `log_masses`
        (2, D, G) are the log masses of the grid points under the prior of blocks, and that of outliers.
        """
        mutations, samples = np.nonzero(index >= 0)
        entries = blocks[mutations].astype(np.int64) * index.shape[1] + samples
        numbers = entries * loci.table.num_rows + index[mutations, samples]
        _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        order = np.lexsort((loci.group[index[mutations, samples][first]], entries[first]))
        first = first[order]
        mutations, samples, entries = mutations[first], samples[first], entries[first]
        is_new = np.diff(entries, prepend=np.iinfo(np.int64).min) != 0
        self._rows = index[mutations, samples].astype(np.int64)
        self._counts = counts[order, None].astype(float)
        self._starts, self._entries = np.flatnonzero(is_new), np.cumsum(is_new) - 1
        mutations, samples = mutations[is_new], samples[is_new]
        self.points = points[mutations, samples]
        self._place = (blocks[mutations] < 0).astype(int)[:, None], samples[:, None]
        self._loci, self._log_masses, self._grid = loci, log_masses, grid

    def log_weights(self, points: NDArray[np.int64], setting: Setting) -> NDArray[np.float64]:
        """Return log w of the points at most h steps from each of `points` (L,), (L, 2 h + 1)."""
        reach = reach_of(len(self._grid))
        near = points[:, None] + np.arange(-reach, reach + 1)
        inside = (near >= 0) & (near < len(self._grid))
        near = np.clip(near, 0, len(self._grid) - 1)
        compute = xi_at_prevalences(self._loci, self._rows, self._grid[near], self._entries)
        (xi,), (xi_max,) = compute([setting])
        of_reads = np.add.reduceat(self._counts * (xi + xi_max[:, None]), self._starts, axis=0)
        return of_reads + np.where(inside, self._log_masses[*self._place, near], -np.inf)


def draw_with_nearby(
    choice: Choice,
    value: float,
    parts: Sequence[NearbyPrevalences],
    settings_at: Callable[[float], Sequence[Setting]],
    independence: IndependenceProposal,
    number: int,
    rng: np.random.Generator,
) -> float:
    """Make `number` of the steps above, which change the value of a choice; return the last value.

    `parts` have the prevalences of different samples, and `settings_at` returns their settings at a value.
    """
    ends = np.cumsum([len(part.points) for part in parts])[:-1]
    points = np.concatenate([part.points for part in parts])

    def log_weights(value: float, points: NDArray[np.int64]) -> NDArray[np.float64]:
        each = zip(parts, np.split(points, ends), settings_at(value))
        return np.concatenate([part.log_weights(of_part, setting) for part, of_part, setting in each])

    for _ in range(number):
        proposal, log_q = choice.propose(value, rng, independence)
        if proposal == value:
            continue
        there = log_weights(proposal, points)
        moved = points + _draw_columns(there, rng) - there.shape[1] // 2
        back = log_weights(value, moved)
        log_z_ratio = (np.logaddexp.reduce(there, axis=1) - np.logaddexp.reduce(back, axis=1)).sum()
        log_ratio = choice.log_prior(proposal) - choice.log_prior(value) + log_q + float(log_z_ratio)
        if rng.random() < math.exp(min(log_ratio, 0.0)):
            value, points = proposal, moved
    return value


def _draw_columns(log_weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a column of each row with probability in proportion to the weights."""
    cumulative = np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).cumsum(axis=1)
    limits = rng.random((len(cumulative), 1)) * cumulative[:, -1:]
    return (cumulative > limits).argmax(axis=1)
