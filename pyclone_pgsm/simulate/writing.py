"""Writing a simulated tumour: the table, the truth and the options."""

import json
from pathlib import Path

import numpy as np

from pyclone_pgsm import __version__
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.files import check_new, make_folder, replacing_together, write_file
from pyclone_pgsm.inputs.observations import PLACEHOLDERS, SUBCLONAL
from pyclone_pgsm.machine import available, shown
from pyclone_pgsm.ranges import BOUNDS, check_kind, check_path, check_range
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import Simulation, simulate

BYTES_PER_ROW = 600  # approximate memory for the numbers and texts of a row of the table


def _write_tables(simulation: Simulation, table: Path, truth: Path) -> None:
    from pyclone_pgsm.tsv import by_row, long_table, write_table

    observations = simulation.observations
    shape = observations.has_data.shape
    ids = {
        "mutation_id": by_row(observations.mutation_ids),
        "sample_id": observations.sample_ids,
    }
    numbers = [name for name in PLACEHOLDERS if name not in SUBCLONAL]
    columns = {
        **ids,
        **{name: getattr(observations, name) for name in numbers},
        **{name: by_row(texts) for name, texts in observations.annotations.items()},
    }
    has_second = observations.subclonal_fraction > 0
    if has_second.any():
        for name in SUBCLONAL:
            columns[name] = np.where(has_second, getattr(observations, name).astype(object), "")
    write_table(long_table(shape, columns)[observations.has_data.ravel()], table)
    true = {"cluster": by_row(simulation.cluster), "ccf": simulation.ccf}
    write_table(long_table(shape, {**ids, **true}), truth)


def write_simulation(
    folder: Path | str,
    options: SimulationOptions,
    seed: int = 1,
    *,
    name: str = "simulated",
    force: bool = False,
) -> list[Path]:
    """Simulate a tumour and write ``NAME.tsv``, ``NAME.truth.tsv`` and ``NAME.json``, reproducibly for a given seed.

    Parameters
    ----------
    folder : Path or str
        Created if necessary.
    options : SimulationOptions
    seed : int
        At least 0.
    name : str
        NAME.
    force : bool
        Replace existing files.

    Returns
    -------
    list of Path
        The table in PyClone-VI's long format; the truth (``mutation_id sample_id cluster ccf``), which includes the
        rows missing from the table, and where artefacts have cluster -1 and no ccf; the options and seed, and the
        weights (near 0, near 1, anywhere) if prevalences were drawn from the learned prior.

    Raises
    ------
    UsageError
        The seed or the name is invalid, or the table needs more memory than is available.
    OutputError
        A file exists and `force` is False, or it cannot be written.
    """
    check_path("folder", folder, may_be_none=False)
    check_kind("options", options, SimulationOptions, "of the class SimulationOptions")
    check_kind("name", name, str, "a file's name without folder, like tumour1")
    folder, seed = Path(folder), check_range("seed", seed, *BOUNDS["seed"])
    if Path(name).name != name or not name.strip("."):
        raise UsageError(f"`name` {name!r}: must be a file's name without folder, like tumour1")
    paths = [folder / f"{name}{ending}" for ending in (".tsv", ".truth.tsv", ".json")]
    for path in paths:
        check_new(path, force)
    needed, there = options.mutations * options.samples * BYTES_PER_ROW, available()
    if there is not None and needed > there:
        raise UsageError(
            f"`mutations` {options.mutations}: {options.samples} samples of so many need about {shown(needed)} of "
            f"memory, and {shown(there)} are available: give fewer"
        )
    simulation = simulate(options, np.random.Generator(np.random.PCG64(seed)))
    noted = {"program": "pyclone-pgsm simulate", "version": __version__, "seed": seed, **options.to_dict()}
    if simulation.weights is not None:
        noted["weights"] = dict(zip(simulation.observations.sample_ids, simulation.weights.tolist()))
    with replacing_together():
        make_folder(folder)
        _write_tables(simulation, paths[0], paths[1])
        write_file(paths[2], (json.dumps(noted, indent=2) + "\n").encode())
    return paths
