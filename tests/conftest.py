"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import scipy.linalg  # noqa: F401  it has a BLAS of its own
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def _one_thread_of_blas() -> Iterator[None]:
    """Tests run beside each other, one on each processor."""
    with threadpool_limits(1, user_api="blas"):
        yield
