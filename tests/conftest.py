"""What holds for all tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache

import pytest
import scipy.linalg  # noqa: F401  it has a BLAS of its own
from threadpoolctl import threadpool_limits
from typer.main import get_command


def pytest_configure() -> None:
    """Let garbage be collected seldom, as the command does: it took a seventh of the time of tests with pictures."""
    gc.set_threshold(50_000, 10, 10)


def pytest_collection_finish() -> None:
    """What is imported by now stays until the end, and need not be looked through."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _one_thread_of_blas() -> Iterator[None]:
    """Tests run beside each other, one on each processor."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands_are_made_once() -> Iterator[None]:
    """Typer's ``CliRunner`` would make all commands anew, from the signatures of the functions, at each call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield
