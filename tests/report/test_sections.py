"""Parts of the page that need no result."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from pyclone_pgsm.report import sections


def test_large_tables_are_not_in_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "MOST_FILE", 200)
    monkeypatch.setattr(sections, "MOST_ROWS", 1000)
    tables = {
        "small.tsv": pd.DataFrame({"x": [1.0, 2.0]}),
        "wide.tsv": pd.DataFrame({f"{k:x}{k**7:x}": [k**9] for k in range(100)}),
        "long.tsv": pd.DataFrame({"x": [1.0] * 1001}),
    }
    found = sections.files_of(SimpleNamespace(tables=tables), *tables)  # type: ignore[arg-type]
    assert list(found) == ["small.tsv"]
