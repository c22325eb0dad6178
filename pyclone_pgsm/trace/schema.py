"""The schema of a trace: the writer follows it, and the reader checks every trace against it.

Nothing in a file is used before it is checked: first that all data are in the file itself and have the size that their
shapes require (:mod:`pyclone_pgsm.trace.structure`), then names, types, shapes, ranges and relations. A problem is
raised as a :class:`~pyclone_pgsm.trace.values.Fault` with its path in the file.
"""

import json
import math
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.priors import Prior
from pyclone_pgsm.sampling.moves import COUNTS
from pyclone_pgsm.trace.hyperparameters import dataset_name, describe
from pyclone_pgsm.trace.options import Dataset, RunOptions
from pyclone_pgsm.trace.structure import LARGEST_INT, path_of, read, text_attribute
from pyclone_pgsm.trace.values import Fault, Values, refuse, shown, within
from pyclone_pgsm.tumour.model import watched_cells

FORMAT = "pyclone-pgsm trace 6"
LAYOUT = """The trace: an HDF5 file that holds the data, the settings and every saved iteration of every chain.

    /config             attributes: format, version, command (all that made the trace, one a line), options (JSON), seed
    /data               enough to go on without the input files: ids, counts, copy numbers and what was left out of a
                        tumour; names and values of any other matrix
    /chains/<k>/        labels [iterations, T], iteration, num_clusters, concentration, log_joint, seconds, and one
                        dataset for each other hyperparameter of the partition prior (discount) and of the likelihood
                        (precision, error_rate, tumour_content:SAMPLE, ..); outliers [iterations, T] if mutations may
                        be; watched [iterations, W] of tumours: prevalences by which the chains are compared;
                        moves [iterations, M, 4]: of each of the options' "moves", in that iteration, how often it was
                        tried, changed the partition, left more clusters, left fewer
    /chains/<k>/state   what the chain needs to go on: iterations done, labels, outliers, random generator, visits (how
                        often the burn-in saw each value that the hyperparameters can take), ...

The first line of the file, before HDF5's own bytes, is the SHA-256 of all that follows from byte 512 on; a program that
changes a trace must renew it (pyclone_pgsm.trace.structure.seal). Texts are UTF-8 of a fixed length, filled with zero
bytes.
"""
"""What a trace says about itself, in its attribute ``description``."""
LABEL_TYPES = ("uint8", "uint16", "uint32")
VISIT = Values("int64", within(0, LARGEST_INT), "a number of visits")
NUMBERED = "blocks are numbered from 0 by first appearance"
FLAG = Values(
    "bool",
    within(0, 1),
    "true or false",
    "whether each mutation is an outlier; in the labels it is then a block of its own",
)

SERIES: dict[str, Values] = {
    "iteration": Values(
        "int64",
        within(1, LARGEST_INT),
        "a positive number",
        "number of iterations done when the row was saved, burn-in included",
    ),
    "num_clusters": Values("int64", within(0, LARGEST_INT), "a number of clusters", "number of clusters"),
    "concentration": Values(
        "float64",
        lambda values: np.isnan(values) | np.isfinite(values),
        "a finite number",
        "concentration of the partition prior; NaN if it has none",
    ),
    "log_joint": Values("float64", np.isfinite, "a finite number", "log p(data, partition, hyperparameters)"),
    "seconds": Values(
        "float64", within(0.0, math.inf, below=True), "a time of 0 or more", "time that the iteration took"
    ),
}
"""Datasets of a chain with one number for each saved iteration."""


def check_iterations(where: str, iteration: NDArray[np.int64], options: RunOptions) -> None:
    """Raise :class:`Fault` unless the saved iterations are every ``thin``-th in order, none after the last."""
    thin, most = options.settings.thin, options.settings.lengths[0]
    expected = thin * np.arange(1, len(iteration) + 1)
    for row in np.flatnonzero(iteration != expected)[:1].tolist():
        reason = f"is {iteration[row]}; expected {expected[row]}: the multiples of {thin} are saved, in order"
        raise Fault(where, f"[{row}] {reason}")
    refuse(where, iteration > most, f"is more than the {most} iterations that the chain should have")


def check_canonical(where: str, labels: NDArray[Any], rows: NDArray[np.int64]) -> None:
    """Raise :class:`Fault` unless each row of labels (n, T) numbers its blocks from 0 by first appearance.

    The message names the row by its number among `rows`.
    """
    for row in np.flatnonzero(labels[:, 0] != 0)[:1].tolist():
        raise Fault(where, f"[{rows[row]}, 0] is {labels[row, 0]}; expected 0: {NUMBERED}")
    largest = np.maximum.accumulate(labels, axis=1)
    is_new = labels[:, 1:] > largest[:, :-1]
    for row, column in np.argwhere(is_new & (labels[:, 1:] - largest[:, :-1] > 1))[:1].tolist():
        most = int(largest[row, column]) + 1
        value = labels[row, column + 1]
        raise Fault(where, f"[{rows[row]}, {column + 1}] is {value}; expected at most {most}: {NUMBERED}")


def check_num_clusters(
    where: str,
    num_clusters: NDArray[np.int64],
    labels: NDArray[Any],
    outliers: NDArray[np.bool_],
    rows: NDArray[np.int64],
) -> None:
    """Raise :class:`Fault` unless the labels of each row have `num_clusters` blocks, outliers not counted."""
    counted = labels.max(axis=1, initial=0).astype(np.int64) + 1
    counted -= outliers.sum(axis=1)  # each is a block of its own
    for row in np.flatnonzero(counted != num_clusters)[:1].tolist():
        raise Fault(where, f"[{rows[row]}] is {num_clusters[row]}, but there are {counted[row]} clusters")


def read_generator(group: h5py.Group) -> np.random.Generator:
    """Return the random generator of a state; :class:`Fault` if numpy cannot make it of the text."""
    text = text_attribute(group, "random_generator")
    generator = np.random.PCG64()
    try:
        generator.state = json.loads(text)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        path = f"{path_of(group)}.random_generator"
        raise Fault(path, f"{shown(text)} is no state of the generator PCG64") from None
    return np.random.Generator(generator)


def check_concentration(
    where: str, concentration: NDArray[np.float64], discount: NDArray[np.float64] | None, prior: Prior
) -> None:
    """Raise :class:`Fault` if the partition prior cannot have one of the concentrations."""
    if not prior.hyperparameters:
        refuse(
            where, ~np.isnan(concentration), f"is a number, but the prior {prior.name} has no concentration"
        )
        return
    is_resampled = getattr(prior, "shape", None) is not None
    least = 0.0 if discount is None or is_resampled else -discount
    refuse(where, ~(concentration > least), "is no concentration that the prior can have")


def read_anchors(group: h5py.Group, proposal: str, num_observations: int) -> dict[str, NDArray[Any]]:
    """Read the arrays of an anchor proposal's state, checked so that the proposal can be restored from them."""
    T, where = num_observations, path_of(group)
    if proposal == "uniform":
        return {}
    label = Values("int32", within(0, LARGEST_INT), "the number of a block")
    labels = read(group, "anchor_labels", label, (T,))
    found: dict[str, NDArray[Any]] = {"anchor_labels": labels}
    if proposal == "balanced":
        return found
    blocks = int(labels.max()) + 1
    if len(np.unique(labels)) != blocks:  # if equal, there are at most T
        raise Fault(f"{where}/anchor_labels", "are not 0, 1, .. without a gap")
    if proposal == "cluster":
        finite = Values("float64", np.isfinite, "a finite number")
        scores = read(group, "anchor_scores", finite, (None, None))
        if scores.shape not in ((0, 0), (blocks, blocks)):
            raise Fault(f"{where}/anchor_scores", f"has the shape {scores.shape}, not {(blocks, blocks)}")
        return found | {"anchor_scores": scores}
    places = Values("int32", within(0, blocks, below=True), f"the number of a block, below {blocks}")
    found["anchor_blocks"] = read(group, "anchor_blocks", places, (None,))
    most = len(found["anchor_blocks"])
    starts = Values("int64", within(0, most), f"a place in anchor_blocks, at most {most}")
    start = found["anchor_start"] = read(group, "anchor_start", starts, (T + 1,))
    if start[0] != 0 or start[-1] != most or (np.diff(start) < 0).any():
        raise Fault(f"{where}/anchor_start", f"does not increase from 0 to {most}")
    return found


def check_moves(where: str, moves: NDArray[np.int32]) -> None:
    """Raise :class:`Fault` if a count (n, M, 4) of a move in a saved iteration is larger than that of all its kinds."""
    tried, changed, split, merged = np.moveaxis(moves.astype(np.int64), 2, 0)
    is_wrong = (changed > tried) | (split + merged > changed)
    refuse(where, is_wrong, "counts more moves of a kind than there are of all")


def datasets_of_chain(data: Dataset, options: RunOptions) -> dict[str, Values]:
    """Return what each dataset of a chain contains, by name; all have one row for each saved iteration."""
    T, names = len(data.names), options.moves
    label = Values(
        LABEL_TYPES[0],
        within(0, T, below=True),
        "the number of a block",
        "block of each observation, numbered by first appearance",
        (T,),
    )
    watched = Values(
        "float32",
        np.isfinite,
        "a finite number",
        "prevalences of some mutations, each in a sample, given the state of the chain",
        (len(watched_cells(T, 1)[0]),),
    )
    count = Values(
        "int32",
        within(0, LARGEST_INT),
        "a number of moves",
        f"of each move ({', '.join(names)}) of the iteration: {', '.join(COUNTS)}",
        (len(names), len(COUNTS)),
    )
    return {
        "labels": label,
        **({"outliers": FLAG._replace(shape=(T,))} if options.model.has_outliers else {}),
        **({"watched": watched} if options.has_watched else {}),
        **({"moves": count} if names else {}),
        **SERIES,
        **{
            dataset_name(name): data.allowed_values(name)._replace(description=describe(name))
            for name in options.traced
        },
    }
