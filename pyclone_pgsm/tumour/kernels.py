"""The read-count likelihood on the prevalence grid (paper, Appendix E), compiled.

For a row with b variant and r reference reads, n = b + r, genotype states psi and grid point x_k,

    Xi_k = log sum_psi pi_psi P(b | n, mean_psi,k, s),     P binomial (s = inf) or beta-binomial,

where the beta-binomial is the binomial whose p is Beta(s mean, s (1 - mean)). With m = (b + s mean) / (n + s),
Stirling's series gives, up to small terms and what does not depend on the mean,

    log P = (b + s mean) log m + (r + s (1 - mean)) log (1 - m) - s mean log mean - s (1 - mean) log (1 - mean).

With very many reads, or a very large s, these terms are large and cancel, and digits would be lost. There log P is
computed from deviances, which vanish if data and mean agree, as Loader did for the binomial; that takes twice the time.

Shapes: U rows sorted into groups, N states in total, G grid points.
"""

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, compiled, inner
from pyclone_pgsm.tumour.genotypes import ROUNDING

NEGLIGIBLE = -40.0  # log of a share of a sum that is negligible in double precision
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
DEEP = 1e5  # reads, and precision if finite, from which log P is computed from deviances


@inner(**LEAF)
def stirling_error(x):
    """Return log Gamma(x) - [(x - 1/2) log x - x + (1/2) log 2 pi], for x > 0."""
    if x < 10.0:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - HALF_LOG_2PI
    y = 1.0 / x
    z = y * y
    tail = 1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156))
    return y * (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * tail)))


@inner(**LEAF)
def log_constant(b, r, s):
    """Return log P(b | n) - `log_reads`, which does not depend on the mean."""
    b, r = float(b), float(r)
    n = b + r
    value = 0.0
    if b > 0 and r > 0:
        value += 0.5 * math.log(n / (2.0 * math.pi * b * r))
        value += stirling_error(n) - stirling_error(b) - stirling_error(r)
    if s < np.inf:
        value += 0.5 * math.log1p(n / s) - stirling_error(s + n) + stirling_error(s)
    return value


@inner(**LEAF)
def log_change(before, after, change):
    """Return log(after / before), where after = before + change is given too, in case either would be imprecise."""
    return math.log1p(change / before) if abs(change) < 0.5 * before else math.log(after / before)


@inner(**LEAF)
def log_reads(b, r, mean, complement, s):
    """Return the part of log P(b | n, mean, s) that depends on the mean, without cancellation at any depth.

    With m = (b + s mean)/(n + s), log P = -n KL(b/n, m) - s KL(mean, m) + small terms of Stirling's series.
    """
    n = b + r
    share = 1.0 / (1.0 + n / s)
    m, other_m = share * mean + b / (n + s), share * complement + r / (n + s)
    excess = share * (n * mean - b if mean < 0.5 else r - n * complement)  # n m - b
    value = 0.0
    if b > 0:
        value += b * log_change(b, n * m, excess)
    if r > 0:
        value += r * log_change(r, n * other_m, -excess)
    if s < np.inf:
        a, c = s * mean, s * complement
        value += a * log_change(a, s * m, -excess) + c * log_change(c, s * other_m, excess)
        value -= 0.5 * math.log((1.0 + b / a) * (1.0 + r / c))
        if b > 0:
            value += stirling_error(a + b) - stirling_error(a)
        if r > 0:
            value += stirling_error(c + r) - stirling_error(c)
    return value


@inner(**LEAF)
def allele_shares(mutant, copies, error_rate):
    """Return the shares of reads with and without the mutation, from cells with `mutant` of `copies` copies."""
    if copies == 0.0:
        return 0.0, 0.0
    return (
        min(max(mutant / copies, error_rate), 1.0 - error_rate),
        min(max((copies - mutant) / copies, error_rate), 1.0 - error_rate),
    )


@inner(**LEAF)
def variant_share(state, tumour_content, error_rate, prevalence, mean, complement):
    """Fill mean = xi(psi, x_k, t), the share of variant reads, and complement = 1 - mean.

    Of a prevalence x, a = min(x, share of the first state) is in cells of the first state and b = x - a in cells of the
    other (`pyclone_pgsm.tumour.genotypes.Genotype`). If the share is 0 there is one copy-number state, and x takes the
    place of the share: the first "state" is that of cells with the mutation, the other that of cells without it.
    """
    other_copies, first_copies = state[1], state[2]
    for k in range(len(prevalence)):
        share = state[5] if state[5] > 0.0 else prevalence[k]
        a = min(prevalence[k], share)
        b = prevalence[k] - a
        is_first_full = state[6] == 0.0 or prevalence[k] > share - ROUNDING
        is_other_full = state[6] == 0.0 or prevalence[k] > 1.0 - ROUNDING
        first_mutant = state[3] if is_first_full else min(state[3], 1.0)
        other_mutant = state[4] if is_other_full else min(state[4], 1.0)
        mutant, intact = allele_shares(first_mutant, first_copies, error_rate)
        other_mutant, other_intact = allele_shares(other_mutant, other_copies, error_rate)
        carriers = tumour_content * a * first_copies
        other_carriers = tumour_content * b * other_copies
        others = (1.0 - tumour_content) * state[0]
        others += (
            tumour_content * (share - a) * first_copies + tumour_content * (1.0 - share - b) * other_copies
        )
        copies = others + carriers + other_carriers
        mean[k] = (others * error_rate + carriers * mutant + other_carriers * other_mutant) / copies
        complement[k] = (
            others * (1.0 - error_rate) + carriers * intact + other_carriers * other_intact
        ) / copies


@inner(**LEAF)
def log_sum_exp(terms):
    if len(terms) == 1:
        return terms[0]
    top = terms[0]
    for value in terms:
        top = max(top, value)
    total = 0.0
    for value in terms:
        if value - top > NEGLIGIBLE:
            total += math.exp(value - top)
    return top + math.log(total)


@inner(**LEAF)
def log_weight(state, prevalence):
    """Return the log prior weight of a genotype, -inf where the prevalence makes it impossible (`Genotype`)."""
    needs_all_cells = state[5] == 0.0 and state[6] != 0.0
    return -np.inf if needs_all_cells and prevalence < 1.0 - ROUNDING else state[7]


@inner(**LEAF)
def subtract_top(row):
    """Subtract the largest value from all values, and return it."""
    top = row[0]
    for k in range(1, len(row)):
        top = max(top, row[k])
    for k in range(len(row)):
        row[k] -= top
    return top


@inner(**LEAF)
def constant_of_deviances(b, r, s):
    """Return the part of `log_reads`, which is computed from deviances, that does not depend on the mean."""
    n = b + r
    value = -math.log1p(n / s)
    for count in (b, r):
        if count > 0.0:
            value += count * math.log(n / count)
    return value


@inner(**LEAF)
def fill_terms(psi, grid, mean, complement, s, log_mean, log_complement, constant):
    """Fill the terms of log P, and the prior weights, that do not depend on the reads; the last three are (J, G)."""
    for j in range(len(psi)):
        for k in range(len(grid)):
            log_mean[j, k], log_complement[j, k] = math.log(mean[j, k]), math.log(complement[j, k])
            constant[j, k] = log_weight(psi[j], grid[k])
            if s < np.inf:
                a, c = s * mean[j, k], s * complement[j, k]
                constant[j, k] -= (a - 0.5) * log_mean[j, k] + stirling_error(a)
                constant[j, k] -= (c - 0.5) * log_complement[j, k] + stirling_error(c)


@inner(**LEAF)
def beta_binomial_terms(a, c, total):
    """Return the terms of a beta-binomial's log P that depend on reads and mean, with a = b + s mean, total = n + s."""
    return (
        (a - 0.5) * math.log(a / total)
        + (c - 0.5) * math.log(c / total)
        + stirling_error(a)
        + stirling_error(c)
    )


@compiled
def fill_grid(
    xi,
    xi_max,
    ref,
    alt,
    group_start,
    states,
    state_start,
    tumour_content,
    error_rate,
    grids,
    grid_of,
    precision,
):
    """Fill xi[v, u, k] = Xi_k - max Xi and xi_max[v, u] = max Xi, in each setting v.

    Rows group_start[g]..group_start[g + 1] - 1 differ in the reads ref and alt only. A group has the row grid_of[g] of
    `grids` (n, G), the prevalences, and the states state_start[g, 0]..state_start[g, 1] - 1, each of the eight numbers
    of a `pyclone_pgsm.tumour.genotypes.Genotype`. A setting has a precision s, infinite for the binomial, and a tumour
    content and an error rate of each group, tumour_content[v, g] and error_rate[v, g].
    """
    size = grids.shape[1]
    for g in range(len(state_start)):
        psi = states[state_start[g, 0] : state_start[g, 1]]
        grid = grids[grid_of[g]]
        mean, complement = np.empty((len(psi), size)), np.empty((len(psi), size))
        log_mean, log_complement = np.empty((len(psi), size)), np.empty((len(psi), size))
        constant = np.empty((len(psi), size))
        terms = np.empty(len(psi))
        for v in range(len(precision)):
            s = precision[v]
            for j in range(len(psi)):
                variant_share(psi[j], tumour_content[v, g], error_rate[v, g], grid, mean[j], complement[j])
            fill_terms(psi, grid, mean, complement, s, log_mean, log_complement, constant)
            for u in range(group_start[g], group_start[g + 1]):
                b, r = float(alt[u]), float(ref[u])
                by_deviances = b + r == 0.0 or b + r + (s if s < np.inf else 0.0) >= DEEP
                row = xi[v, u]
                for k in range(size):
                    for j in range(len(psi)):
                        if by_deviances:
                            terms[j] = log_reads(b, r, mean[j, k], complement[j, k], s)
                            terms[j] += log_weight(psi[j], grid[k])
                        elif s < np.inf:
                            a, c = b + s * mean[j, k], r + s * complement[j, k]
                            terms[j] = constant[j, k] + beta_binomial_terms(a, c, b + r + s)
                        else:
                            terms[j] = constant[j, k] + b * log_mean[j, k] + r * log_complement[j, k]
                    row[k] = log_sum_exp(terms)
                xi_max[v, u] = subtract_top(row) + log_constant(b, r, s) - math.log(len(psi))
                xi_max[v, u] += 0.0 if by_deviances else constant_of_deviances(b, r, s)
