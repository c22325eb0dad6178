"""A likelihood of another distribution: installed, found by its entry point, and right."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import PLUGIN
from enumeration import blocks_of, poisson_gamma_log_marginal

RATE = 0.05
MEANS = np.array([[2.0, 30.0], [30.0, 2.0], [12.0, 12.0]])
TRUTH = np.repeat([0, 1, 2], 20)
COUNTS = np.random.default_rng(3).poisson(MEANS[TRUTH]).astype(float)

CHAIN = """
import json, sys
import numpy as np
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.likelihoods.registry import find_likelihood, installed_likelihoods
from pyclone_pgsm.priors import DirichletProcess

counts, rate = json.load(sys.stdin)
info = {info.name: info for info in installed_likelihoods()}["poisson-gamma"]
PoissonGamma = find_likelihood("poisson-gamma")
likelihood = PoissonGamma.from_data(np.array(counts), rate=rate)
model, settings = FixedModel(likelihood, len(counts)), Settings(iterations=60, burn_in=20)
state = start_chain(model, DirichletProcess(1.0, None, None), settings, 0)
_, records, _ = advance(model, settings, state, 10, lambda _: False)
labels = records.labels[-1]
parameters_of_blocks = []
for block in range(labels.max() + 1):
    stat = np.empty(likelihood.stat_size())
    likelihood.clear(stat)
    likelihood.add_many(stat, np.flatnonzero(labels == block))
    parameters_of_blocks.append({name: value.tolist() for name, value in likelihood.cluster_parameters(stat).items()})
json.dump({
    "file": sys.modules[PoissonGamma.__module__].__file__,
    "source": info.source,
    "parameters": info.parameters,
    "labels": [row.tolist() for row in records.labels[20:]],
    "log_joint": records.log_joint[20:],
    "parameters_of_blocks": parameters_of_blocks,
}, sys.stdout)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example, from a copy of its source."""
    folder = tmp_path_factory.mktemp("distribution")
    shutil.copytree(PLUGIN.parent, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    command = "-m pip install -q --no-deps --no-build-isolation --no-index --target"
    subprocess.run([sys.executable, *command.split(), folder / "site", folder / "source"], check=True)
    return folder / "site"


def python(installed: Path, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    paths = [str(installed), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def result(installed: Path) -> dict[str, Any]:
    run = python(installed, "-c", CHAIN, stdin=json.dumps([COUNTS.tolist(), RATE]))
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)  # type: ignore[no-any-return]


@pytest.mark.long
def test_it_is_found_by_its_entry_point(installed: Path, result: dict[str, Any]) -> None:
    assert Path(result["file"]) == installed / "pyclone_pgsm_poisson_gamma.py"
    assert result["source"] == "pyclone-pgsm-poisson-gamma 0.1.0 (pyclone_pgsm_poisson_gamma:PoissonGamma)"
    assert result["parameters"] == {"shape": 1.0, "rate": 0.1}


@pytest.mark.long
def test_a_chain_finds_the_clusters(result: dict[str, Any]) -> None:
    labels = np.array(result["labels"])
    together = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    assert ((together > 0.5) == (TRUTH[:, None] == TRUTH)).all()


@pytest.mark.long
def test_it_tells_the_parameters_of_clusters(result: dict[str, Any]) -> None:
    blocks = blocks_of(result["labels"][-1])
    assert len(blocks) == len(result["parameters_of_blocks"])
    for block, found in zip(blocks, result["parameters_of_blocks"]):
        gamma = stats.gamma(1.0 + COUNTS[block].sum(axis=0), scale=1.0 / (RATE + len(block)))
        assert found["mean"] == pytest.approx(gamma.mean())
        assert found["mean_sd"] == pytest.approx(gamma.std())


@pytest.mark.long
def test_its_log_joint_is_that_of_scipy(result: dict[str, Any]) -> None:
    columns = [poisson_gamma_log_marginal(column, 1.0, RATE) for column in COUNTS.T]
    for labels, log_joint in zip(result["labels"], result["log_joint"]):
        blocks = blocks_of(labels)
        expected = -float(gammaln(1.0 + len(labels)))
        for block in blocks:
            expected += float(gammaln(len(block))) + sum(column(block) for column in columns)
        assert log_joint == pytest.approx(expected, abs=1e-8)


@pytest.mark.long
def test_its_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    """Among them the package's check of likelihoods."""
    shutil.copy(PLUGIN.parent / "test_poisson_gamma.py", tmp_path)
    run = python(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "13 passed" in run.stdout
