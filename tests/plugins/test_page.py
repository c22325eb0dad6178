"""docs/plugins.md shows the example as it is, its Python runs, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyclone_pgsm.likelihoods.contract import METHODS, OPTIONAL_METHODS

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "poisson_gamma"
PAGE = (ROOT / "docs" / "plugins.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_listings_are_the_files() -> None:
    assert blocks("python")[0] == (EXAMPLE / "pyclone_pgsm_poisson_gamma.py").read_text()
    assert blocks("toml") == [(EXAMPLE / "pyproject.toml").read_text()]


def test_every_method_of_the_contract_is_described() -> None:
    table = re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE)
    described = set(re.findall(r"`(\w+\(.*?\))`", " ".join(table)))
    for name, arguments in {**METHODS, **OPTIONAL_METHODS, "log_constant": ("self",)}.items():
        assert f"{name}({', '.join(arguments)})" in described


@pytest.mark.parametrize(
    "page", [ROOT / "docs" / "plugins.md", EXAMPLE / "README.md"], ids=lambda page: page.name
)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = [link for link in re.findall(r"\]\((.*?)\)", page.read_text()) if "://" not in link]
    assert links
    for link in links:
        assert (page.parent / link).exists()


@pytest.mark.long
def test_the_python_runs() -> None:
    program = "\n".join(blocks("python")[1:])
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    sizes, *rest = run.stdout.splitlines()
    assert sizes == "[40 40]"
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", " ".join(rest))]
    means, (likely, unlikely) = numbers[:4], numbers[4:]
    assert sorted(round(mean / 10) for mean in means) == [0, 0, 3, 3]
    assert likely > -6.0
    assert unlikely < -10.0
