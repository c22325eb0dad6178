"""Files of an output folder, and the columns of its tables in their order.

The page of tables in the documentation is made from this module, and a test compares the names with the tables written.
"""

TUMOUR_FILES = {
    "mutations.tsv": "one row for each mutation and sample",
    "clusters.tsv": "one row for each cluster and sample",
    "left_out.tsv": "one row for each thing left out or changed; written even if empty",
    "run.json": "`command` (if there were several, as for merged chains, all in their order, one a line), version, "
    "seed, options, counts, diagnostics, whether the chains have converged, `moves` (of each move, in the saved "
    "iterations of all chains after the burn-in, how often it was `tried`, `changed` the partition, `split`: left "
    "more clusters, `merged`: left fewer), weights of the chains, warnings, seconds, `memory_estimate_mb` (what the "
    "run was expected to need at its peak, and its parts), versions of the libraries. A number that is infinite or "
    "undefined is null, and `null_because` beside it has the reason",
    "trace.h5": "all saved iterations of all chains",
    "report.html": "one self-contained page",
    "plots/": "pictures",
}
"""Files that ``analyze`` writes."""

MATRIX_FILES = {
    "assignments.tsv": "one row for each row of the data",
    "clusters.tsv": "one row for each cluster and column of the data",
    **{name: TUMOUR_FILES[name] for name in ("run.json", "trace.h5", "report.html", "plots/")},
}
"""Files that ``cluster`` writes."""

MUTATION_COLUMNS = {
    "mutation_id": "as in the input",
    "sample_id": "as in the input",
    "cluster_id": "0, 1, … from the largest mean prevalence down; the same in all samples; -1 of an outlier",
    "cellular_prevalence": "posterior mean of the share of cancer cells that carry the mutation",
    "cellular_prevalence_std": "its posterior standard deviation",
    "cluster_assignment_prob": "posterior probability that the mutation belongs to its cluster, 0 to 1; of an outlier, "
    "that it is one",
    "cellular_prevalence_lower": "lower end of the shortest 95 % interval, extended to the mean if that lies "
    "outside",
    "cellular_prevalence_upper": "its upper end",
    "variant_allele_frequency": "variant reads over all reads; empty without reads, or where the sample was not used",
    "prob_present": "posterior probability that the prevalence is above 0.01 (`--present-above`)",
    "prob_clonal": "posterior probability that the prevalence is above 0.95 (`--clonal-above`)",
    "second_cluster_id": "the most probable other cluster of the mutation; empty if there is none",
    "second_cluster_prob": "its probability",
    "multiplicity": "most probable number of mutated copies in the cells that carry the mutation, given the prevalence "
    "of its cluster; empty without reads, and of outliers",
    "multiplicity_prob": "its probability",
    "fit": "how well the reads agree with the cluster: tail probability of the variant reads, 0 to 1; empty without "
    "reads, and of outliers",
    "peaks": "peaks of the posterior of the prevalence, mostly 1",
    "outlier_prob": "only with `--outlier-prob`: posterior probability of being an outlier",
    "chrom": "as in the input, if it is there; so are the next four",
    "pos": "position",
    "ref": "reference allele",
    "alt": "variant allele",
    "gene": "gene",
}
"""Columns of ``mutations.tsv``; the first six are PyClone-VI's."""

CLUSTER_COLUMNS = {
    "cluster_id": "0, 1, … from the largest mean prevalence down",
    "sample_id": "as in the input",
    "size": "mutations in the cluster",
    "cellular_prevalence": "posterior mean of the cluster's prevalence",
    "cellular_prevalence_std": MUTATION_COLUMNS["cellular_prevalence_std"],
    "cellular_prevalence_lower": MUTATION_COLUMNS["cellular_prevalence_lower"],
    "cellular_prevalence_upper": MUTATION_COLUMNS["cellular_prevalence_upper"],
    "prob_present": MUTATION_COLUMNS["prob_present"],
    "prob_clonal": MUTATION_COLUMNS["prob_clonal"],
    "status": "`absent` (not present), `subclonal` (present, not clonal) or `clonal` where one of these has a "
    "probability of at least 0.8, else `uncertain`",
    "peaks": MUTATION_COLUMNS["peaks"],
}
"""Columns of a tumour's ``clusters.tsv``."""

LEFT_OUT_COLUMNS = {
    "file": "the file of the input",
    "row": "its row, the header being row 1 if nothing stands above it; empty where no single row is meant",
    "mutation_id": "the mutation, where one is meant",
    "sample_id": "the sample, where one is meant",
    "reason": "why it was left out, or what was changed",
}
"""Columns of ``left_out.tsv``."""

ASSIGNMENT_COLUMNS = {
    "row_id": "name of the row, or its number from 1 where rows have no names",
    "cluster_id": "0, 1, … from the largest cluster down",
    "assignment_prob": "mean posterior probability that the row is together with the other members of its cluster",
}
"""Columns of ``assignments.tsv``."""

MIXTURE_COLUMNS = {
    "cluster_id": "0, 1, … from the largest cluster down",
    "dimension": "column of the data",
    "size": "rows in the cluster",
}
"""First columns of the ``clusters.tsv`` of ``cluster``; the posterior of the likelihood's parameters follows."""
