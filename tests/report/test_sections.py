"""Parts of the page that need no result."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm.posterior.rows import Traces
from pyclone_pgsm.report import sections
from pyclone_pgsm.report.drawings import chain_pictures


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


@pytest.mark.parametrize("burn_in", [0, 3])
def test_chains_are_drawn_if_the_shortest_has_nothing_after_the_burn_in(burn_in: int) -> None:
    traces = Traces({"log_joint": np.array([[-110.0, -100.0, -90.0]])}, burn_in, np.arange(1, 4))
    [(_, picture)] = chain_pictures(traces)
    assert ">-89<" in picture
    assert ">-111<" in picture
