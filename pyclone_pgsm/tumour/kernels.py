"""The read-count likelihood on the prevalence grid (paper, Appendix E), compiled.

For a row with b variant and r reference reads, n = b + r, genotype states psi and grid point x_k,

    Xi_k = log sum_psi pi_psi P(b | n, mean_psi,k, s),     P binomial (s = inf) or beta-binomial,

where the beta-binomial is the binomial whose p is Beta(s mean, s (1 - mean)). Two routes give log P:

* With tables. log P = T_b(mean) + T_r(1 - mean) + constant(b, r, s) with
  T_c(m) = log prod_{j<c} (s m + j)/(s + j), which is c log m for the binomial. T is tabulated for the counts that
  occur among rows of the same copy numbers, tumour content and error rate: two look-ups per row and state.
* Directly, from deviances, which vanish if data and mean agree (as Loader did for the binomial): for rows deeper than
  `DEEPEST_TABLE`, whose T and constant grow with n and cancel, which loses digits; and for grids of a single point,
  where a table would be larger than what is looked up in it.

Shapes: U rows sorted into groups, N states in total, G grid points.
"""

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, compiled, inner

DEEPEST_TABLE = 1 << 15  # reads; above, cancellation would cost more than about 1e-11 nats
BLOCK_BYTES = 1 << 18  # size of the tables for a block of grid points: fits in the second-level cache
NARROWEST_BLOCK, WIDEST_BLOCK = 16, 128
LONGEST_PRODUCT = 16  # factors multiplied before a logarithm is taken; longer gaps use the closed form
SMALLEST_PRODUCT = -600.0  # log of the smallest product of factors that is safe from underflow
LARGEST_EXCESS = 600.0  # log of the largest ratio of two genotypes' likelihoods that is safe from overflow
NEGLIGIBLE = -40.0  # log of a share of a sum that is negligible in double precision
ROUNDING = 1e-9  # tolerance in comparisons of prevalences and shares
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


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
    """Return log P(b | n) - T_b(mean) - T_r(1 - mean), which does not depend on the mean."""
    b, r = float(b), float(r)
    n = b + r
    value = 0.0
    if b > 0 and r > 0:
        value += 0.5 * math.log(n / (2.0 * math.pi * b * r)) - b * math.log(b / n) - r * math.log(r / n)
        value += stirling_error(n) - stirling_error(b) - stirling_error(r)
    if s < np.inf:
        value += (s + b - 0.5) * math.log1p(b / s) + (s + r - 0.5) * math.log1p(r / s)
        value -= (s + n - 0.5) * math.log1p(n / s)
        value += stirling_error(s + b) + stirling_error(s + r) - stirling_error(s) - stirling_error(s + n)
    return value


@inner(**LEAF)
def log_direct_constant(b, r, s):
    """Return log P(b | n) - `log_direct`, which does not depend on the mean."""
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
def log_direct(b, r, mean, complement, s):
    """Return the part of log P(b | n, mean, s) that depends on the mean, without cancellation at any depth.

    With m = (b + s mean)/(n + s), log P = -n KL(b/n, m) - s KL(mean, m) + small terms of Stirling's series,
    and both divergences are sums of x log1p(+-e/x) with e = n m - b.
    """
    excess = (b + r) * mean - b if mean < 0.5 else r - (b + r) * complement
    excess /= 1.0 + (b + r) / s
    value = 0.0
    if b > 0:
        value += b * math.log1p(excess / b)
    if r > 0:
        value += r * math.log1p(-excess / r)
    if s < np.inf:
        a, c = s * mean, s * complement
        value += a * math.log1p(-excess / a) + c * math.log1p(excess / c)
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


@inner(nogil=True)
def fill_moments(table, counts, mean, complement, s):
    """Fill table[i, k] = T_c(mean[k]) = log E[p^c], p ~ Beta(s mean, s complement); c = counts[i] ascends."""
    log_mean = np.empty(len(mean))
    for k in range(len(mean)):
        log_mean[k] = math.log(mean[k])
    if s == np.inf:
        for i in range(len(counts)):
            for k in range(len(mean)):
                table[i, k] = counts[i] * log_mean[k]
        return
    longest = LONGEST_PRODUCT
    product, error = np.empty(len(mean)), np.empty(len(mean))
    for k in range(len(mean)):
        error[k] = stirling_error(s * mean[k])
        if LONGEST_PRODUCT * log_mean[k] < SMALLEST_PRODUCT:
            longest = 1
    previous = 0
    for i in range(len(counts)):
        c = counts[i]
        if c - previous <= longest:
            product[:] = 1.0
            for j in range(previous, c):
                scale = 1.0 / (s + j)
                for k in range(len(mean)):
                    product[k] *= (s * mean[k] + j) * scale
            for k in range(len(mean)):
                table[i, k] = math.log(product[k]) + (table[i - 1, k] if i > 0 else 0.0)
        else:
            log_growth = math.log1p(c / s)
            growth_error = stirling_error(s + c) - stirling_error(s)
            for k in range(len(mean)):
                a = s * mean[k]
                table[i, k] = (
                    c * log_mean[k]
                    + (a + c - 0.5) * math.log1p(c * complement[k] / (mean[k] * (s + c)))
                    - s * complement[k] * log_growth
                    + (stirling_error(a + c) - error[k])
                    - growth_error
                )
        previous = c


@inner(nogil=True)
def distinct(counts):
    """Return the sorted distinct counts, and the position of each count among them."""
    largest = 0
    for count in counts:
        largest = max(largest, count)
    position = np.full(largest + 1, -1, np.int64)
    for count in counts:
        position[count] = 0
    values = np.empty(largest + 1, np.int64)
    found = 0
    for count in range(largest + 1):
        if position[count] == 0:
            position[count] = found
            values[found] = count
            found += 1
    where = np.empty(len(counts), np.int64)
    for i in range(len(counts)):
        where[i] = position[counts[i]]
    return values[:found], where


@inner(**LEAF)
def log_sum_exp(terms):
    top = terms[0]
    for value in terms[1:]:
        top = max(top, value)
    total = 0.0
    for value in terms:
        if value - top > NEGLIGIBLE:
            total += math.exp(value - top)
    return top + math.log(total)


# These loops are not array expressions, which would take three seconds to compile.


@inner(**LEAF)
def log_weight(state, prevalence):
    """Return the log prior weight of a genotype, -inf where the prevalence makes it impossible (`Genotype`)."""
    needs_all_cells = state[5] == 0.0 and state[6] != 0.0
    return -np.inf if needs_all_cells and prevalence < 1.0 - ROUNDING else state[7]


@inner(**LEAF)
def add_weight(table, state, prevalence):
    """Add the log prior weight of a genotype to table[:, k], the values at prevalence[k]."""
    if state[6] == 0.0 and state[7] == 0.0:
        return
    for k in range(table.shape[1]):
        weight = log_weight(state, prevalence[k])
        for i in range(len(table)):
            table[i, k] += weight


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
def divide_by_first(table):
    """Replace table[psi], psi > 0, by exp(table[psi] - table[0])."""
    for psi in range(1, len(table)):
        for i in range(table.shape[1]):
            for k in range(table.shape[2]):
                table[psi, i, k] = math.exp(table[psi, i, k] - table[0, i, k])


@inner(**LEAF)
def largest_excess(table):
    """Return max(0, largest table[psi] - table[0])."""
    excess = 0.0
    for psi in range(1, len(table)):
        for i in range(table.shape[1]):
            for k in range(table.shape[2]):
                excess = max(excess, table[psi, i, k] - table[0, i, k])
    return excess


@inner(nogil=True)
def mix(xi, alt_at, ref_at, alt_table, ref_table):
    """Fill xi[u, k] = log sum_psi exp(alt_table[psi, alt_at[u], k] + ref_table[psi, ref_at[u], k]).

    The sum is over ratios to the first term, whose factors are tabulated as well: each value takes one logarithm
    and no exponential. If a ratio could overflow, the plain sum is computed instead; otherwise a ratio that
    underflows is negligible.
    """
    num_states, width = len(alt_table), xi.shape[1]
    safe = largest_excess(alt_table) + largest_excess(ref_table) < LARGEST_EXCESS
    if safe:
        divide_by_first(alt_table)
        divide_by_first(ref_table)
    terms, ratio = np.empty(num_states), np.empty(width)
    for u in range(len(xi)):
        a, r = alt_at[u], ref_at[u]
        if safe:
            ratio[:] = 1.0
            for psi in range(1, num_states):
                for k in range(width):
                    ratio[k] += alt_table[psi, a, k] * ref_table[psi, r, k]
            for k in range(width):
                xi[u, k] = alt_table[0, a, k] + ref_table[0, r, k]
            if num_states > 1:
                for k in range(width):
                    xi[u, k] += math.log(ratio[k])
        else:
            for k in range(width):
                for psi in range(num_states):
                    terms[psi] = alt_table[psi, a, k] + ref_table[psi, r, k]
                xi[u, k] = log_sum_exp(terms)


@inner(nogil=True)
def fill_with_tables(xi, ref, alt, states, tumour_content, error_rate, grid, s):
    """Fill xi[u, k] = log sum_psi exp(T_b(mean) + T_r(1 - mean)); the rows differ in the counts only."""
    alts, alt_at = distinct(alt)
    refs, ref_at = distinct(ref)
    num_states = len(states)
    width = BLOCK_BYTES // (8 * num_states * (len(alts) + len(refs)))
    width = min(max(width, NARROWEST_BLOCK), WIDEST_BLOCK, len(grid))
    for first in range(0, len(grid), width):
        block = grid[first : first + width]
        size = len(block)
        mean, complement = np.empty(size), np.empty(size)
        alt_table = np.empty((num_states, len(alts), size))
        ref_table = np.empty((num_states, len(refs), size))
        for psi in range(num_states):
            variant_share(states[psi], tumour_content, error_rate, block, mean, complement)
            fill_moments(alt_table[psi], alts, mean, complement, s)
            fill_moments(ref_table[psi], refs, complement, mean, s)
            add_weight(alt_table[psi], states[psi], block)
        mix(xi[:, first : first + size], alt_at, ref_at, alt_table, ref_table)


@inner(nogil=True)
def fill_directly(xi, ref, alt, states, tumour_content, error_rate, grid, s):
    """Fill xi[u, k] as `fill_with_tables` does, but with `log_direct`."""
    num_states, size = len(states), len(grid)
    mean, complement = np.empty((num_states, size)), np.empty((num_states, size))
    for psi in range(num_states):
        variant_share(states[psi], tumour_content, error_rate, grid, mean[psi], complement[psi])
    terms = np.empty(num_states)
    for u in range(len(ref)):
        for k in range(size):
            for psi in range(num_states):
                terms[psi] = log_direct(alt[u], ref[u], mean[psi, k], complement[psi, k], s)
                terms[psi] += log_weight(states[psi], grid[k])
            xi[u, k] = log_sum_exp(terms)


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
    s,
):
    """Fill xi[u, k] = Xi_k - max Xi and xi_max[u] = max Xi, with s the precision, infinite for the binomial.

    Rows group_start[g]..group_start[g + 1] - 1 differ in the reads ref and alt only, and either all or none are deeper
    than `DEEPEST_TABLE`. A group has a tumour content, an error rate, the row grid_of[g] of `grids` (n, G), the
    prevalences, and the states state_start[g, 0]..state_start[g, 1] - 1, each of the eight numbers of a
    `pyclone_pgsm.tumour.genotypes.Genotype`.
    """
    for g in range(len(state_start)):
        rows = slice(group_start[g], group_start[g + 1])
        psi = states[state_start[g, 0] : state_start[g, 1]]
        grid = grids[grid_of[g]]
        is_direct = len(grid) == 1 or alt[rows.start] + ref[rows.start] > DEEPEST_TABLE
        if is_direct:
            fill_directly(xi[rows], ref[rows], alt[rows], psi, tumour_content[g], error_rate[g], grid, s)
        else:
            fill_with_tables(xi[rows], ref[rows], alt[rows], psi, tumour_content[g], error_rate[g], grid, s)
        for u in range(rows.start, rows.stop):
            constant = (
                log_direct_constant(alt[u], ref[u], s) if is_direct else log_constant(alt[u], ref[u], s)
            )
            xi_max[u] = subtract_top(xi[u]) + constant - math.log(len(psi))
