"""pyclone-pgsm: exact Bayesian clustering of tumour mutations by Particle Gibbs Split-Merge sampling."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyclone_pgsm.analysis import analyze as analyze
    from pyclone_pgsm.arviz import to_arviz as to_arviz
    from pyclone_pgsm.clustering import Clustering as Clustering
    from pyclone_pgsm.clustering import cluster as cluster
    from pyclone_pgsm.errors import PycloneError as PycloneError
    from pyclone_pgsm.estimator import SplitMergeMixture as SplitMergeMixture
    from pyclone_pgsm.inputs.read_counts.tables import read_tables as read_tables
    from pyclone_pgsm.opening import open_trace as open_trace
    from pyclone_pgsm.posterior.states import Thresholds as Thresholds
    from pyclone_pgsm.results import Result as Result
    from pyclone_pgsm.sampling.settings import Settings as Settings
    from pyclone_pgsm.tumour.options import ModelOptions as ModelOptions

__version__ = "0.1.0"

_WHERE = {
    "Clustering": "pyclone_pgsm.clustering",
    "ModelOptions": "pyclone_pgsm.tumour.options",
    "PycloneError": "pyclone_pgsm.errors",
    "Result": "pyclone_pgsm.results",
    "Settings": "pyclone_pgsm.sampling.settings",
    "SplitMergeMixture": "pyclone_pgsm.estimator",
    "Thresholds": "pyclone_pgsm.posterior.states",
    "analyze": "pyclone_pgsm.analysis",
    "cluster": "pyclone_pgsm.clustering",
    "open_trace": "pyclone_pgsm.opening",
    "read_tables": "pyclone_pgsm.inputs.read_counts.tables",
    "to_arviz": "pyclone_pgsm.arviz",
}
"""Module of each public name. A name is imported at its first use, as ``pyclone-pgsm --help`` needs none of them."""

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'pyclone_pgsm' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
