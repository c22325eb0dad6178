"""Sums of products in twice the working precision (Dekker 1971; Hida, Li & Bailey 2001).

A number is an unevaluated sum ``high + low`` of two float64, ``|low|`` at most half a unit in the last place of
``high``: about 32 decimal digits. Nothing here may be compiled with fastmath.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from pyclone_pgsm.jit.compiling import inner

SPLITTER = 134217729.0  # 2^27 + 1


@inner(nogil=True)
def two_sum(a, b):
    """a + b without error, for any a and b."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


@inner(nogil=True)
def two_product(a, b):
    """a b without error."""
    product = a * b
    big = SPLITTER * a
    a_high = big - (big - a)
    a_low = a - a_high
    big = SPLITTER * b
    b_high = big - (big - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@inner(nogil=True)
def add(a_high, a_low, b_high, b_low):
    """a + b, both twofold."""
    high, low = two_sum(a_high, b_high)
    other_high, other_low = two_sum(a_low, b_low)
    high, low = two_sum(high, low + other_high)
    return two_sum(high, low + other_low)


@inner(nogil=True)
def multiply(a_high, a_low, b_high, b_low):
    """a b, both twofold."""
    high, low = two_product(a_high, b_high)
    return two_sum(high, low + (a_high * b_low + a_low * b_high))


@inner(nogil=True)
def divide(a_high, a_low, b_high, b_low):
    """a / b, both twofold."""
    first = a_high / b_high
    high, low = multiply(first, 0.0, b_high, b_low)
    high, low = add(a_high, a_low, -high, -low)
    second = high / b_high
    more_high, more_low = multiply(second, 0.0, b_high, b_low)
    high, low = add(high, low, -more_high, -more_low)
    third = high / b_high
    high, low = two_sum(first, second)
    return add(high, low, third, 0.0)


@inner(nogil=True, error_model="numpy")
def decompose(A, N):
    """A = L diag(pivots) L^T of a positive definite matrix, in place.

    Parameters
    ----------
    A : (N (N + 1),) float64
        The lower triangle of the matrix, row by row: all high parts, then all low parts. Afterwards the pivots stand on
        the diagonal, the rest of L below it.
    N : int

    Returns
    -------
    float
        The logarithm of the determinant.
    """
    high = A[: N * (N + 1) // 2]
    low = A[N * (N + 1) // 2 :]
    column_high = np.empty(N)
    column_low = np.empty(N)
    log_det = 0.0
    for k in range(N):
        pivot = k * (k + 3) // 2
        log_det += math.log(high[pivot])
        for i in range(k + 1, N):
            row = i * (i + 1) // 2
            column_high[i], column_low[i] = high[row + k], low[row + k]
            ratio, ratio_low = divide(high[row + k], low[row + k], high[pivot], low[pivot])
            high[row + k], low[row + k] = ratio, ratio_low
            for j in range(np.uint64(k + 1), np.uint64(i + 1)):
                product, product_low = multiply(ratio, ratio_low, column_high[j], column_low[j])
                at = np.uint64(row) + j
                high[at], low[at] = add(high[at], low[at], -product, -product_low)
    return log_det
