"""Environment variables that the command sets for its process before large libraries are imported.

A run uses the threads of ``--threads``, one for each chain. Libraries for linear algebra would also start as many as
there are processors, for products too small to benefit, and sums split among threads have different last digits on
different machines. Matplotlib's cache is kept in the same folder as everything else that is kept between runs.
"""

import logging
import os
from pathlib import Path

CACHE = "PYCLONE_PGSM_CACHE_DIR"
"""Environment variable with the folder for everything kept between runs; the default is the user's cache folder."""

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def settle() -> None:
    """Let libraries use one thread each, and matplotlib the folder `CACHE` if that is set; silence its warnings.

    This has no effect on libraries that are already imported. Child processes inherit it.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))
    # pandas imports pyarrow if it is installed
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    chosen = os.environ.get(CACHE)
    if chosen:
        os.environ.setdefault("MPLCONFIGDIR", str(Path(chosen) / "matplotlib"))
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
