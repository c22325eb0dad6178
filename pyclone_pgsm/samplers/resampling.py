"""Random draws for particles: binomial and multinomial counts over unique particles with multiplicities."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(nogil=True)
def draw_binomial(rng, n, p):
    """Number of successes in `n` trials: by inversion, one uniform; trial by trial where inversion would underflow."""
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    q = min(p, 1.0 - p)
    log_none = n * math.log1p(-q)
    if log_none > -600.0:
        u = rng.random()
        term = math.exp(log_none)
        odds = q / (1.0 - q)
        count = 0
        while u > term and count < n:
            u -= term
            count += 1
            term *= odds * (n - count + 1) / count
    else:
        count = 0
        for _ in range(n):
            if rng.random() < q:
                count += 1
    return count if q == p else n - count


@njit(nogil=True)
def resample_multinomial(rng, weights, num, total, offspring):
    """Multinomial resampling of `total` particles: ``offspring[:num]`` ~ Multinomial(total, weights / sum)."""
    remaining = np.zeros(num + 1)
    for p in range(num - 1, -1, -1):
        remaining[p] = remaining[p + 1] + weights[p]
    for p in range(num):
        offspring[p] = draw_binomial(rng, total, weights[p] / remaining[p]) if remaining[p] > 0.0 else 0
        total -= offspring[p]


@njit(nogil=True)
def relative_ess(weights, multiplicities, num):
    """(sum w)^2 / (N sum w^2) over N = sum of multiplicities copies; the weights of a copy in ``weights``."""
    count = 0
    total = 0.0
    squares = 0.0
    for p in range(num):
        count += multiplicities[p]
        total += multiplicities[p] * weights[p]
        squares += multiplicities[p] * weights[p] * weights[p]
    return total * total / (count * squares)
