"""A few hundred random bad values: every option, every cell of every kind of table (see :mod:`bad_values`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from bad_values import BASES, faults, options_of


def test_bad_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert faults(200, 17, tmp_path) == []


def test_all_commands_have_options_to_try() -> None:
    assert all(options_of(command) for command in BASES)
