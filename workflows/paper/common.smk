"""What the rules ask for: data files, the settings of a chain, the tables of a figure."""

import json
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path.insert(0, workflow.basedir)
from data_files import MissingData, data_file

DATA = Path(config["data"]).resolve()
RESULTS = Path(config["results"] or Path(workflow.basedir) / "results").resolve()
EXPERIMENTS = config["experiments"]
FIGURES = config["figures"]
NAMES = ", ".join(config["settings"])
if config["setting"] not in config["settings"]:
    raise WorkflowError(f"setting={config['setting']}: must be one of {NAMES}")
SETTING = {"rows": None, **config["settings"][config["setting"]]}


def file_of_dataset(name):
    """The file that a data set is read from, none if it is simulated."""
    try:
        path = data_file(name, DATA)
    except MissingData as problem:
        raise WorkflowError(str(problem)) from None
    return [] if path is None else path


def file_of(wildcards):
    return file_of_dataset(wildcards.dataset)


def file_of_maps(wildcards):
    (name,) = EXPERIMENTS[wildcards.experiment]["datasets"]
    return file_of_dataset(name)


def configuration_of(wildcards):
    return json.dumps(EXPERIMENTS[wildcards.experiment]["configurations"][wildcards.configuration])


def replicates_of(wildcards):
    wanted = EXPERIMENTS[wildcards.experiment].get("replicates", SETTING["replicates"])
    return SETTING["replicates"] if config["setting"] == "tiny" else wanted


def seconds_of(wildcards):
    return SETTING.get("seconds") or EXPERIMENTS[wildcards.experiment]["seconds"][config["setting"]]


def rows_option():
    return f"--rows {SETTING['rows']}" if SETTING["rows"] else ""


def chains_of(experiment, configurations=None, ending="tsv"):
    """What the chains of an experiment wrote."""
    datasets, known = EXPERIMENTS[experiment]["datasets"], EXPERIMENTS[experiment]["configurations"]
    chosen = configurations or list(known)
    return [f"chains/{experiment}/{dataset}/{name}.{ending}" for dataset in datasets for name in chosen]


def tables_of_figure(wildcards):
    figure = FIGURES[wildcards.figure]
    return chains_of(figure["experiment"], figure.get("configurations"))
