"""Environment variables that the command sets for its process before anything heavy is imported.

The threads of a run are those of ``--threads``, a chain each. Libraries for linear algebra would start as many again as
there are processors, for products too small to gain by it, and sums split among them have other last digits on another
machine. Matplotlib's cache goes into the same folder as all else that is kept between runs.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

CACHE = "PYCLONE_PGSM_CACHE_DIR"
"""Environment variable with the folder for all that is kept between runs; unset, the user's own folder for caches."""

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def settle() -> None:
    """One thread for each library; matplotlib's files in the folder `CACHE` if it is set, without its warnings.

    This has no effect on libraries that are imported already. Processes that this one starts inherit it.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))
    # pandas imports pyarrow if it is there
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    chosen = os.environ.get(CACHE)
    if chosen:
        os.environ.setdefault("MPLCONFIGDIR", str(Path(chosen) / "matplotlib"))
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
