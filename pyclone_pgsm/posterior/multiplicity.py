"""Number of mutant copies of each mutation: its multiplicity.

At prevalence phi, the b variant reads of n come from a genotype state psi with probability proportional to

    pi_psi P(b | n, xi(psi, phi), s)

with P the beta-binomial of precision s or the binomial (:mod:`pyclone_pgsm.tumour.grid`). The probability of a number
of mutant copies is that of the states with this number, averaged over the posterior of the mutation's prevalence
(:mod:`pyclone_pgsm.posterior.prevalence`).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, compiled, inner
from pyclone_pgsm.tumour.genotypes import ROUNDING
from pyclone_pgsm.tumour.grid import Loci
from pyclone_pgsm.tumour.kernels import log_reads, log_sum_exp, log_weight, variant_share

NEGLIGIBLE_MASS = 1e-9  # posterior mass of a grid point that is not taken into account


@inner(**LEAF)
def mutant_copies(state, prevalence):
    """Return the number of mutant copies in most of the cells with the mutation (see `variant_share`)."""
    if state[5] == 0.0:
        return int(state[3])
    is_first_full = state[6] == 0.0 or prevalence > state[5] - ROUNDING
    is_other_full = state[6] == 0.0 or prevalence > 1.0 - ROUNDING
    first = state[3] if is_first_full else min(state[3], 1.0)
    other = state[4] if is_other_full else min(state[4], 1.0)
    return int(other) if other > 0.0 and prevalence > 2.0 * state[5] else int(first)


@inner(nogil=True)
def add_shares(share, b, r, psi, tumour_content, error_rate, prevalence, mass, s):
    """Add to share[m] the probability of m mutant copies, averaged over prevalences with this posterior `mass`."""
    mean, complement = np.empty(len(prevalence)), np.empty(len(prevalence))
    p = np.empty((len(prevalence), len(psi)))
    for k in range(len(psi)):
        variant_share(psi[k], tumour_content, error_rate, prevalence, mean, complement)
        for x in range(len(prevalence)):
            if mass[x] > NEGLIGIBLE_MASS:
                log_p = log_reads(b, r, mean[x], complement[x], s)
                p[x, k] = log_p + log_weight(psi[k], prevalence[x])
    for x in range(len(prevalence)):
        if mass[x] > NEGLIGIBLE_MASS:
            log_total = log_sum_exp(p[x])
            for k in range(len(psi)):
                share[mutant_copies(psi[k], prevalence[x])] += mass[x] * math.exp(p[x, k] - log_total)


@compiled
def _find(
    column,
    index,
    reads,
    states,
    state_bounds,
    tumour_content,
    error_rate,
    grid,
    density,
    s,
    number,
    probability,
):
    """Fill number and probability (n, D) for the d samples from `column` on.

    `reads` are the variant and the reference reads. `index` (n, d) has the observations of these samples, -1 for none,
    and `density` (n, D, G) the posterior of the mutations' prevalences on the `grid` (G,). The states and their bounds
    are those of :func:`pyclone_pgsm.tumour.kernels.fill_grid`.
    """
    alt, ref = reads
    most_copies = 1
    for k in range(len(states)):
        most_copies = max(most_copies, int(max(states[k, 3], states[k, 4])))
    share = np.empty(most_copies + 1)
    for i in range(len(density)):
        for d in range(index.shape[1]):
            u = index[i, d]
            if u < 0:
                continue
            psi = states[state_bounds[u, 0] : state_bounds[u, 1]]
            mass = density[i, column + d]
            share[:] = 0.0
            add_shares(share, alt[u], ref[u], psi, tumour_content[u], error_rate[u], grid, mass, s)
            best = 0
            total = 0.0
            for copies in range(len(share)):
                total += share[copies]
                if share[copies] > share[best] * (1.0 + ROUNDING):
                    best = copies
            number[i, column + d] = best
            probability[i, column + d] = share[best] / total


class Multiplicities:
    """The most probable number of mutant copies of T mutations in D samples, and its probability.

    `number` (T, D) is that in the cells that carry the mutation (in most of them, if they have two copy-number states);
    0 where there are no data. Its `probability` (T, D) is then NaN.
    """

    def __init__(self, parts: Sequence[tuple[Loci, float]], grid: NDArray[np.float64]) -> None:
        """Take the observations of all samples, or of each sample, and their precision (infinite: binomial).

        The `grid` (G,) has the prevalences of the posteriors that :meth:`find` gets.
        """
        self._grid, self._parts = grid, parts
        shape = len(parts[0][0].table.index), sum(loci.table.index.shape[1] for loci, _ in parts)
        self.number = np.zeros(shape, np.int64)
        self.probability = np.full(shape, np.nan)

    def find(self, first: int, density: NDArray[np.float64]) -> None:
        """Find those of the mutations from `first` on whose prevalences have the posterior `density` (n, D, G)."""
        column = 0
        for loci, precision in self._parts:
            table = loci.table
            _find(
                column,
                table.index[first : first + len(density)],
                (table.alt_counts, table.ref_counts),
                loci.states,
                loci.bounds,
                table.tumour_content,
                table.error_rate,
                self._grid,
                density,
                precision,
                self.number[first:],
                self.probability[first:],
            )
            column += table.index.shape[1]
