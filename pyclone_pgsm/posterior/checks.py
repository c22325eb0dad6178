"""What makes a tumour's result doubtful, and what to do: each doubt is one warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.likelihoods.choice import Choice
from pyclone_pgsm.posterior.states import SURE, absent_everywhere
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.tumour.model import ERROR_RATE, PRECISION, content_choice

CHANCE = 0.01
"""Of a result of right model and clusters: expected number of tail probabilities that count as impossible, at most."""
SHOWN_MISFITS = 3
UNCERTAIN_CLUSTER, MISFIT = "cluster uncertain", "reads do not fit"
"""Why a mutation is doubtful."""
SHARE_AT_END = {"precision": 0.2, "error_rate": 0.3, "tumour_content": 0.2}
"""Of the draws of a hyperparameter at an end of its values. Of error rates it is larger, as few reads often favour all
small ones, which does no harm."""


def doubts_of_tumour(
    summary: Summary, draws: Mapping[str, NDArray[np.float64]], contents: Mapping[str, Uncertain]
) -> list[str]:
    """Warnings of a tumour's result.

    Parameters
    ----------
    summary : Summary
    draws : mapping of str to (M,) float64
        Posterior draws of each inferred hyperparameter.
    contents : mapping of str to Uncertain
        The tumour contents that are inferred, by sample.
    """
    return [*_misfits(summary), *_absent_clusters(summary), *_ends(draws, contents)]


def misfits(fit: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n, 2) mutations and samples whose reads are impossible, the worst first.

    They are those whose tail probability times the number of tail probabilities is below `CHANCE`.

    Parameters
    ----------
    fit : (T, D) float64
        NaN for no number.
    """
    number = int(np.isfinite(fit).sum())
    found = np.argwhere(fit * number < CHANCE)
    return found[np.argsort(fit[tuple(found.T)], kind="stable")]


def doubtful(summary: Summary) -> NDArray[np.object_]:
    """Why each mutation is doubtful, (T,); "" if it is not.

    Its reads do not fit its cluster (:func:`misfits`), or the cluster has a probability below
    :data:`~pyclone_pgsm.posterior.states.SURE`.
    """
    found = np.where(summary.assignment_prob < SURE, UNCERTAIN_CLUSTER, "").astype(object)
    found[misfits(summary.fit)[:, 0]] = MISFIT
    return found


def _misfits(summary: Summary) -> Iterator[str]:
    found = misfits(summary.fit)
    if not len(found):
        return
    shown = [
        f"mutation {summary.mutation_ids[i]} in sample {summary.sample_ids[d]}: "
        f"{round(summary.vaf[i, d] * summary.depth[i, d]):,} of {summary.depth[i, d]:,} reads show the variant, where "
        f"its cluster's prevalence of {summary.cluster_mean[summary.labels[i], d]:.3f} lets "
        f"{summary.expected_reads[i, d]:,.0f} be expected"
        for i, d in found[:SHOWN_MISFITS].tolist()
    ]
    number = len(np.unique(found[:, 0]))
    who = (
        "1 mutation do not fit its cluster"
        if number == 1
        else f"{number:,} mutations do not fit their clusters"
    )
    hidden = len(found) - len(shown)
    yield (
        f"the reads of {who} (column fit of mutations.tsv): {'; '.join(shown)}"
        + (f"; and {hidden:,} more" if hidden else "")
        + ". Look for wrong copy numbers, a wrong tumour content, and artefacts (--outlier-prob 0.05)"
    )


def _absent_clusters(summary: Summary) -> Iterator[str]:
    for k in absent_everywhere(summary.cluster_prob_present):
        size = int(summary.cluster_size[k])
        yield (
            f"cluster {k} ({size:,} mutation{'' if size == 1 else 's'}) is absent from every sample: probably "
            "artefacts; leave them out, or try --outlier-prob 0.05"
        )


def _ends(draws: Mapping[str, NDArray[np.float64]], contents: Mapping[str, Uncertain]) -> Iterator[str]:
    for name, values in draws.items():
        kind, _, sample = name.partition(":")
        enough = SHARE_AT_END.get(kind, np.inf)
        of_sample = f" of {sample}" if sample else ""
        if kind == "precision" and _share_at(values, PRECISION, 0) >= enough:
            yield (
                f"the precision{of_sample} is at the smallest value that is tried, "
                f"{_at(values, PRECISION, 0)}: the reads scatter more than those of clusters do. Look for wrong copy "
                "numbers and for artefacts (--outlier-prob 0.05), and compare with the result of a fixed precision "
                "(--precision 200)"
            )
        elif kind == "error_rate":
            for end, which in ((0, "smallest"), (-1, "largest")):
                if _share_at(values, ERROR_RATE, end) >= enough:
                    yield (
                        f"the error rate is at the {which} value that is tried, {_at(values, ERROR_RATE, end)}: give "
                        "the true one with --error-rate"
                    )
        elif kind == "tumour_content" and sample in contents:
            content = contents[sample]
            choice = content_choice(content)
            # a distribution that is cut off at 0 or 1 ends there by nature
            step = content.sd / 2.0
            ends = [
                (0, "smallest", choice.values[0] - step > 0.0),
                (-1, "largest", choice.values[-1] + step <= 1.0),
            ]
            for end, which, is_end in ends:
                if is_end and _share_at(values, choice, end) >= enough:
                    yield (
                        f"the tumour content{of_sample} is at the {which} value that is tried, "
                        f"{_at(values, choice, end)}: the reads contradict {content.mean:g}±{content.sd:g}; check it, "
                        "or give a larger standard deviation with --tumour-content"
                    )


def _share_at(draws: NDArray[np.float64], choice: Choice, end: int) -> float:
    return float(np.mean(draws == choice.values[end]))


def _at(draws: NDArray[np.float64], choice: Choice, end: int) -> str:
    return f"{choice.values[end]:g}, in {100.0 * _share_at(draws, choice, end):.0f} % of the draws"
