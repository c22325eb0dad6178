"""What is special to the analysis of a tumour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pyclone_pgsm.analyses.plan import Plan, make_plan
from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.observations import LeftOut, Observations
from pyclone_pgsm.inputs.tumour_content import ContentOption, check_uncertain, uncertain
from pyclone_pgsm.models import TUMOUR, StoredModel
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour.genotypes import GENOTYPE_PRIORS
from pyclone_pgsm.tumour.grid import DENSITIES, choose_grid_size, deduplicate
from pyclone_pgsm.tumour.model import PER_SAMPLE, PREVALENCE_PRIORS

LEAST_PRECISION, MOST_PRECISION = 0.1, 1e9
LEAST_OUTLIERS = 1e-9


@dataclass(frozen=True)
class ModelOptions:
    """The tumour model. The names are those of the command line's options.

    Attributes
    ----------
    genotype_prior : str
        See :mod:`pyclone_pgsm.tumour.genotypes`.
    density : {"beta-binomial", "binomial"}
    precision : float, None or "infer-per-sample"
        Of the beta-binomial, between 0.1 and 1e9, or infinite; None infers it, and ``infer-per-sample`` one of each
        sample.
    grid_size : int or None
        Grid points; None chooses from the data.
    tumour_content : float, Uncertain, mapping of sample to one of these, or None
        As :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables` takes it; distributions are inferred.
    outlier_prob : float
        Probability that a mutation is an outlier (:mod:`pyclone_pgsm.tumour.outliers`), at least 0 and below 1.
    prevalence_prior : {"learned", "uniform"}
        The prior of a cluster's prevalence in each sample (:mod:`pyclone_pgsm.tumour.base_measure`).
    """

    genotype_prior: str = "major"
    density: str = "beta-binomial"
    precision: float | str | None = None
    grid_size: int | None = None
    tumour_content: ContentOption = None
    outlier_prob: float = 0.0
    prevalence_prior: str = "learned"

    def __post_init__(self) -> None:
        if self.genotype_prior not in GENOTYPE_PRIORS:
            raise UsageError(
                f"--genotype-prior {self.genotype_prior!r}: must be one of {', '.join(GENOTYPE_PRIORS)}"
            )
        if self.density not in DENSITIES:
            raise UsageError(f"--density {self.density!r}: must be one of {', '.join(DENSITIES)}")
        if self.prevalence_prior not in PREVALENCE_PRIORS:
            raise UsageError(
                f"--prevalence-prior {self.prevalence_prior!r}: must be one of {', '.join(PREVALENCE_PRIORS)}"
            )
        if self.precision not in (None, PER_SAMPLE):
            self._check_precision(self.precision)
        check_uncertain(self.tumour_content)
        if self.grid_size is not None and not 11 <= self.grid_size <= 10_001:
            raise UsageError(f"--grid-size {self.grid_size}: must be 'auto' or between 11 and 10001")
        if not 0.0 <= self.outlier_prob < 1.0:
            raise UsageError(f"--outlier-prob {self.outlier_prob}: must be at least 0 and below 1")
        if self.outlier_prob and not LEAST_OUTLIERS <= self.outlier_prob <= 1.0 - LEAST_OUTLIERS:
            raise UsageError(
                f"--outlier-prob {self.outlier_prob}: must be 0, or between {LEAST_OUTLIERS:g} and 1 - "
                f"{LEAST_OUTLIERS:g}: nearer to 0 or 1 no number of mutations would tell the difference"
            )

    @staticmethod
    def _check_precision(precision: object) -> None:
        if not (isinstance(precision, int | float) and precision > 0):
            raise UsageError(f"--precision {precision}: must be 'infer', {PER_SAMPLE!r} or a positive number")
        if not (LEAST_PRECISION <= precision <= MOST_PRECISION or precision == math.inf):
            raise UsageError(
                f"--precision {precision}: must be between {LEAST_PRECISION:g}, below which nearly all reads of a "
                f"mutation would be of one allele, and {MOST_PRECISION:g}, above which it is the binomial (--density "
                "binomial)"
            )

    def store(self, observations: Observations) -> StoredModel:
        """The options as a trace stores them, with the grid that is chosen for these data."""
        grid_size = self.grid_size or choose_grid_size(observations, deduplicate(observations).num_rows)
        contents = uncertain(self.tumour_content, observations.sample_ids)
        return {
            "likelihood": TUMOUR,
            "genotype_prior": self.genotype_prior,
            "density": self.density,
            "precision": None if self.density == "binomial" else self.precision,
            "grid_size": grid_size,
            "prevalence_prior": self.prevalence_prior,
            **(
                {"tumour_content": {sample: list(pair) for sample, pair in contents.items()}}
                if contents
                else {}
            ),
            **({"outlier_prob": self.outlier_prob} if self.outlier_prob else {}),
        }


def plan_tumour(
    observations: Observations,
    left_out: Sequence[LeftOut],
    model_options: ModelOptions,
    settings: Settings,
    prior: Prior,
    threads: int | None,
) -> Plan:
    """The plan of a tumour's run; see :func:`make_plan`."""
    compile_ahead(TUMOUR, settings, threads)
    stored = model_options.store(observations)
    return make_plan(observations, left_out, stored, settings, prior, threads=threads)
