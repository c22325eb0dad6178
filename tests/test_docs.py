"""The examples of the pages in docs/ do what the pages say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.filterwarnings("ignore:the chains disagree")
def test_python_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = re.sub("^```.*$", "", (DOCS / "python.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    page = doctest.DocTestParser().get_doctest(text, {}, "python.md", "docs/python.md", 0)
    assert len(page.examples) > 30
    assert doctest.DocTestRunner().run(page).failed == 0
    assert (tmp_path / "found.h5").exists()
