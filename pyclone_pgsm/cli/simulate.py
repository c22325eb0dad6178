"""The command ``simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyclone_pgsm.cli.mistakes import mistakes_reported
from pyclone_pgsm.cli.options import (
    FORCE,
    QUIET,
    SEED,
    output_option,
)


def simulate(
    out: Annotated[Path, output_option("Folder for the files.", "DIR")],
    mutations: Annotated[int, typer.Option(help="Mutations.")] = 200,
    samples: Annotated[int, typer.Option(help="Samples.")] = 3,
    clusters: Annotated[int, typer.Option(help="Clusters, each of at least one mutation.")] = 6,
    depth: Annotated[float, typer.Option(help="Mean reads of a mutation in a sample.")] = 100.0,
    purity: Annotated[
        list[float] | None,
        typer.Option(help="Share of cancer cells: once for all samples, or once a sample. \\[default: 0.8]"),
    ] = None,
    copy_numbers: Annotated[str, typer.Option(metavar="NAME", help="diploid or mixed.")] = "diploid",
    missing: Annotated[float, typer.Option(help="Share of rows that are missing.")] = 0.0,
    subclonal: Annotated[
        float,
        typer.Option(
            help="Share of segments on which a subclone gained or lost a copy; needs mixed copy numbers."
        ),
    ] = 0.0,
    precision: Annotated[
        list[float] | None,
        typer.Option(
            metavar="FLOAT|inf",
            help="Precision of the beta-binomial, once for all samples, or once a sample; inf: binomial. "
            "\\[default: inf]",
        ),
    ] = None,
    error_rate: Annotated[float, typer.Option(help="Sequencing error rate.")] = 0.001,
    artefacts: Annotated[
        float, typer.Option(help="Share of mutations that are artefacts and belong to no cluster.")
    ] = 0.0,
    cluster_sizes: Annotated[str, typer.Option(metavar="NAME", help="dirichlet or equal.")] = "dirichlet",
    clonal: Annotated[
        bool, typer.Option("--clonal/--no-clonal", help="One cluster is in all cells of all samples.")
    ] = True,
    absent: Annotated[float, typer.Option(help="Probability that a subclone is absent from a sample.")] = 0.2,
    prevalence_prior: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Where prevalences come from: clones (as --clonal and --absent say), or the priors of analyze, each "
            "cluster and sample independently: learned (weights in NAME.json) or uniform.",
        ),
    ] = "clones",
    name: Annotated[str, typer.Option(help="Name of the files.")] = "simulated",
    seed: SEED = 1,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Data with a known truth: NAME.tsv, NAME.truth.tsv and NAME.json."""
    with mistakes_reported():
        from pyclone_pgsm.simulate.options import SimulationOptions
        from pyclone_pgsm.simulate.writing import write_simulation

        options = SimulationOptions(
            mutations=mutations,
            samples=samples,
            clusters=clusters,
            depth=depth,
            purity=purity or 0.8,
            copy_numbers=copy_numbers,
            missing=missing,
            subclonal=subclonal,
            precision=precision or float("inf"),
            error_rate=error_rate,
            artefacts=artefacts,
            cluster_sizes=cluster_sizes,
            clonal=clonal,
            absent=absent,
            prevalence_prior=prevalence_prior,
        )
        paths = write_simulation(out, options, seed, name=name, force=force)
        if not quiet:
            print("\n".join(map(str, paths)))
