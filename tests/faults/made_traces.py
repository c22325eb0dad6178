"""Traces for these tests, made without running a chain, and what someone may do to them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from small_runs import LEFT_OUT, edited, tumour

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.plan import Plan, make_plan
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.priors import DirichletProcess, Prior
from pyclone_pgsm.sampling.chain import Records
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import TraceWriter, create_trace
from pyclone_pgsm.trace.tumour import TumourData

ROWS, CLUSTERS, MUTATIONS = 20, 3, 40
CONTENT = Uncertain(0.7, 0.1)
OWN = analysis.ModelOptions(
    precision="infer-per-sample", tumour_content={"S1": CONTENT}, outlier_prob=0.05, grid_size=51
)


def made_trace(
    path: Path, model: analysis.ModelOptions | None = None, prior: Prior | None = None, **settings: Any
) -> Path:
    """A trace of a small tumour with 20 saved iterations of two chains, as anything but a sampler would make them."""
    data = tumour(MUTATIONS)
    plan = make_plan(
        TumourData(
            data, LEFT_OUT, (model or analysis.ModelOptions(precision=None, grid_size=51)).resolve(data)
        ),
        Settings(**{"iterations": ROWS, "burn_in": 10, "chains": 2, **settings}),
        prior or DirichletProcess(),
    )
    create_trace(path, plan.data, plan.options, "a test", plan.states)
    writer = TraceWriter(path, plan.options.traced)
    for chain, state in enumerate(plan.states):
        state.iteration = ROWS
        writer.add(chain, state, _records(plan))
    writer.flush()
    return path


def _records(plan: Plan) -> Records:
    state = plan.states[0]
    outliers = [] if state.outliers is None else [np.zeros(MUTATIONS, bool)] * ROWS
    return Records(
        iteration=list(range(1, ROWS + 1)),
        labels=[(np.arange(MUTATIONS) % CLUSTERS).astype(np.int32)] * ROWS,
        num_clusters=[CLUSTERS] * ROWS,
        log_joint=[-100.0 - row for row in range(ROWS)],
        seconds=[0.01] * ROWS,
        prior_values=[state.prior.values()] * ROWS,
        values=[state.values] * ROWS,
        outliers=outliers,
        moves=[np.ones((len(plan.options.moves), 4), np.int64) * [[4, 2, 1, 0]]] * ROWS,
    )


Harm = Callable[[h5py.File], None]


def harm(path: Path, do: Harm) -> Path:
    """A trace changed by someone who knows its format, and renews its checksum."""
    with edited(path) as file:
        do(file)
    return path


def put(name: str, value: Any, place: Any = -1) -> Harm:
    """Another value in a dataset."""

    def do(file: h5py.File) -> None:
        file[name][place] = value

    return do


def replace(name: str, values: Any, **options: Any) -> Harm:
    """Another dataset of this name."""

    def do(file: h5py.File) -> None:
        del file[name]
        values_ = np.asarray(values(file) if callable(values) else values)
        file.create_dataset(name, data=values_, **options)

    return do


def attribute(place: str, name: str, value: Any) -> Harm:
    """Another attribute."""

    def do(file: h5py.File) -> None:
        file[place].attrs[name] = value

    return do


def option(where: str, value: Any) -> Harm:
    """Another value of the options, such as ``settings.chains``."""

    def do(file: h5py.File) -> None:
        options = json.loads(file["config"].attrs["options"])
        *path, last = where.split(".")
        inner = options
        for name in path:
            inner = inner[name]
        inner[last] = value
        file["config"].attrs["options"] = json.dumps(options)

    return do
