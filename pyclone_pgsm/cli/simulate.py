"""The command ``simulate``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from pyclone_pgsm.cli.mistakes import mistakes_reported
from pyclone_pgsm.cli.options import SEED, WRITING_OPTIONS, Options, option, output_option, taking


def _option(kind: Any, text: str, name: str = "", metavar: str | None = None) -> Any:
    return option(kind, name, text, metavar=metavar)


SIMULATION_OPTIONS: Options = {
    "mutations": (_option(int, "Mutations."), 200),
    "samples": (_option(int, "Samples."), 3),
    "clusters": (_option(int, "Clusters, each of at least one mutation."), 6),
    "depth": (_option(float, "Mean reads of a mutation in a sample."), 100.0),
    "purity": (
        _option(
            list[float] | None,
            "Share of cancer cells: once for all samples, or once a sample. \\[default: 0.8]",
        ),
        None,
    ),
    "copy_numbers": (
        _option(
            str, "Copy numbers: 1+1 everywhere, or as segments of a tumour's genome.", metavar="diploid|mixed"
        ),
        "diploid",
    ),
    "missing": (_option(float, "Share of rows that are missing."), 0.0),
    "subclonal": (
        _option(
            float, "Share of segments on which a subclone gained or lost a copy; needs mixed copy numbers."
        ),
        0.0,
    ),
    "precision": (
        _option(
            list[float] | None,
            "Precision of the beta-binomial, once for all samples, or once a sample; inf: binomial. \\[default: inf]",
            metavar="FLOAT|inf",
        ),
        None,
    ),
    "error_rate": (_option(float, "Sequencing error rate."), 0.001),
    "artefacts": (_option(float, "Share of mutations that are artefacts and belong to no cluster."), 0.0),
    "cluster_sizes": (_option(str, "Sizes of clusters.", metavar="dirichlet|equal"), "dirichlet"),
    "clonal": (_option(bool, "One cluster is in all cells of all samples.", "--clonal/--no-clonal"), True),
    "absent": (_option(float, "Probability that a subclone is absent from a sample."), 0.2),
    "prevalence_prior": (
        _option(
            str,
            "Where prevalences come from: clones (as --clonal and --absent say), or the priors of analyze, each "
            "cluster and sample independently: learned (weights in NAME.json) or uniform.",
            metavar="clones|learned|uniform",
        ),
        "clones",
    ),
    "name": (_option(str, "Name of the files."), "simulated"),
    "seed": (SEED, 1),
}


@taking(SIMULATION_OPTIONS, WRITING_OPTIONS)
def simulate(
    context: typer.Context, out: Annotated[Path, output_option("Folder for the files.", "DIR")]
) -> None:
    """Simulate data with a known truth: NAME.tsv, NAME.truth.tsv and NAME.json."""
    given = context.params
    with mistakes_reported():
        from pyclone_pgsm.simulate.options import SimulationOptions
        from pyclone_pgsm.simulate.writing import write_simulation

        chosen = {name: given[name] for name in (field.name for field in fields(SimulationOptions))}
        chosen |= {"purity": given["purity"] or 0.8, "precision": given["precision"] or float("inf")}
        paths = write_simulation(
            out, SimulationOptions(**chosen), given["seed"], name=given["name"], force=given["force"]
        )
        if not given["quiet"]:
            print("\n".join(map(str, paths)))
