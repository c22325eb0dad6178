"""The examples at the end of each command's help."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "analyze": (
        "pyclone-pgsm analyze tumour.tsv",
        "pyclone-pgsm analyze S1.tsv S2.tsv --tumour-content S1=0.8 --tumour-content S2=0.6 -o OUT",
        "pyclone-pgsm analyze R1.vcf.gz R2.vcf.gz -c R1_subclones.txt -c R2_subclones.txt --sex female -o OUT",
        "pyclone-pgsm analyze --samples cohort.csv -o results",
    ),
    "validate": (
        "pyclone-pgsm validate tumour.tsv",
        "pyclone-pgsm validate R1.vcf.gz -c R1_subclones.txt --sex female",
    ),
    "run": (
        "pyclone-pgsm run tumour.tsv -o trace.h5",
        "pyclone-pgsm run tumour.tsv -o second.h5 --seed 2",
    ),
    "prepare": (
        "pyclone-pgsm prepare R1.vcf.gz R2.vcf.gz -c R1_subclones.txt -c R2_subclones.txt -o joined",
        "pyclone-pgsm prepare --samples cohort.csv -o joined",
    ),
    "cluster": (
        "pyclone-pgsm cluster points.csv --likelihood normal --standardise",
        "pyclone-pgsm cluster answers.tsv --likelihood bernoulli --param a0=0.5 --param b0=0.5 -o OUT",
        "pyclone-pgsm cluster counts.csv --likelihood poisson.py:Poisson -o OUT",
    ),
    "likelihoods": ("pyclone-pgsm likelihoods",),
    "resume": (
        "pyclone-pgsm resume OUT/trace.h5",
        "pyclone-pgsm resume trace.h5 --max-iterations 20000",
    ),
    "merge": ("pyclone-pgsm merge first.h5 second.h5 -o all.h5",),
    "summarize": (
        "pyclone-pgsm summarize trace.h5 -o OUT",
        "pyclone-pgsm summarize OUT/trace.h5 -o finer --consensus mpear",
    ),
    "plot": ("pyclone-pgsm plot OUT/trace.h5 -o pictures --format svg",),
    "simulate": (
        "pyclone-pgsm simulate -o DIR",
        "pyclone-pgsm simulate -o DIR --name deep --samples 2 --purity 0.9 --purity 0.6 --depth 500",
    ),
    "report": (
        "pyclone-pgsm report OUT -o report.html",
        "pyclone-pgsm report all.h5 -o report.html --force",
    ),
    "export": (
        "pyclone-pgsm export OUT --format pairtree -o trees",
        "pyclone-pgsm export OUT --format maf --source tumour.maf -o tumour.ccf.maf",
        "pyclone-pgsm export OUT --format vcf --source S1=s1.vcf.gz -o s1.ccf.vcf.gz",
        "pyclone-pgsm export OUT --format metient --primary S1 -o sites.tsv",
    ),
    "score": (
        "pyclone-pgsm score OUT simulated.truth.tsv",
        "pyclone-pgsm score pyclone_vi.tsv simulated.truth.tsv",
    ),
}
"""Example calls of each command."""


def epilog(command: str) -> str:
    """Return the end of a command's help."""
    return "\n\n".join(["Examples:", *EXAMPLES[command]])
