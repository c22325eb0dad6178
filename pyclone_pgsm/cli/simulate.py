"""The command ``simulate``."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from pyclone_pgsm.cli.messages import say
from pyclone_pgsm.cli.options import CHAIN_OPTIONS, WRITING_OPTIONS, grouped, output_option, some, taking
from pyclone_pgsm.cli.parsing import refuse_ineffective

SIMULATION_OPTIONS = grouped(
    None,
    {
        "mutations": (int, 200, "Mutations."),
        "samples": (int, 3, "Samples."),
        "clusters": (int, 6, "Clusters, each of at least one mutation."),
        "depth": (float, 100.0, "Mean reads of a mutation in a sample."),
        "purity": (
            list[float] | None,
            None,
            "Share of cancer cells: once for all samples, or once a sample. \\[default: 0.8]",
        ),
        "copy_numbers": (
            str,
            "diploid",
            "Copy numbers: 1+1 everywhere, or as segments of a tumour's genome.",
            "diploid|mixed",
        ),
        "genotypes": (
            str,
            "by-mutation",
            "Whether a mutation has one genotype, or one drawn for each sample, as analyze assumes; needs mixed copy "
            "numbers.",
            "by-mutation|by-sample",
        ),
        "missing": (float, 0.0, "Share of rows that are missing."),
        "subclonal": (
            float,
            0.0,
            "Share of segments on which a subclone gained or lost a copy; needs mixed copy numbers.",
        ),
        "precision": (
            list[float] | None,
            None,
            "Precision of the beta-binomial, once for all samples, or once a sample; inf: binomial. \\[default: inf]",
            "FLOAT|inf",
        ),
        "error_rate": (float, 0.001, "Sequencing error rate."),
        "artefacts": (float, 0.0, "Share of mutations that are artefacts and belong to no cluster."),
        "cluster_sizes": (str, "dirichlet", "Sizes of clusters.", "dirichlet|equal"),
        "clonal": (bool, True, "One cluster is in all cells of all samples.", None, "--clonal/--no-clonal"),
        "absent": (float, 0.2, "Probability that a subclone is absent from a sample."),
        "prevalence_prior": (
            str,
            "clones",
            "Where prevalences come from: clones (as --clonal and --absent say), or the priors of analyze, each "
            "cluster and sample independently: learned (weights in NAME.json) or uniform.",
            "clones|learned|uniform",
        ),
        "name": (str, "simulated", "Name of the files."),
    },
)


@taking(SIMULATION_OPTIONS, some(CHAIN_OPTIONS, "seed"), WRITING_OPTIONS)
def simulate(
    context: typer.Context, out: Annotated[Path, output_option("Folder for the files.", "DIR")]
) -> None:
    """Simulate data with a known truth: NAME.tsv, NAME.truth.tsv and NAME.json."""
    given = context.params
    from pyclone_pgsm.simulate.options import EFFECTS, SimulationOptions
    from pyclone_pgsm.simulate.writing import write_simulation

    chosen = {field.name: given[field.name] for field in fields(SimulationOptions)}
    chosen |= {"purity": given["purity"] or 0.8, "precision": given["precision"] or float("inf")}
    options = SimulationOptions(**chosen)
    refuse_ineffective(context, EFFECTS)
    paths = write_simulation(out, options, given["seed"], name=given["name"], force=given["force"])
    say(given, *paths)
