"""A finished analysis from Python: a `Result` with tables, pictures, the report and exports.

:func:`pyclone_pgsm.open_trace` makes it from existing files; :func:`pyclone_pgsm.analyze` and
:func:`pyclone_pgsm.cluster` run new chains.
"""

from __future__ import annotations

import html
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.analyses.plan import Plan
from pyclone_pgsm.analyses.results import PAGES, write_pages, write_pictures
from pyclone_pgsm.analyses.run import Progress, fill_folder, start
from pyclone_pgsm.analyses.run_json import run_report
from pyclone_pgsm.errors import MissingTableError, TraceError, UsageError
from pyclone_pgsm.exports import Answer, ExportOptions, check_output, export, find_format
from pyclone_pgsm.exports.answer import DEFAULT_PATIENT, complete
from pyclone_pgsm.files import check_file, make_folder, remove_with, replacing_together
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.likelihoods.registry import absolute
from pyclone_pgsm.posterior.convergence import verdict_line
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.posterior.summarize import SUMMARISERS, Findings, summarize
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.priors import REGISTRY, CustomPrior, DirichletProcess, Prior
from pyclone_pgsm.ranges import PICTURE_FORMATS, check_choice, check_kind, check_path, refuse
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.stopping import Interrupted
from pyclone_pgsm.trace import RunOptions, Trace
from pyclone_pgsm.trace.tumour import TumourData

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRACE, RUN = "trace.h5", "run.json"
R = TypeVar("R", bound="Result")


class Plots(SimpleNamespace):
    """Pictures of a result, each a method without arguments that returns a matplotlib Figure: ``result.plot.traces()``.

    ``dir(result.plot)`` lists them. A notebook that begins with ``%matplotlib inline`` displays a Figure directly.
    """

    def __dir__(self) -> list[str]:
        return sorted(vars(self))

    def __getattr__(self, name: str) -> Callable[[], Figure]:
        raise AttributeError(f"no picture {name!r}; there are {', '.join(dir(self))}")


class Result:
    """A finished analysis of a tumour or of any other data.

    It is returned by :func:`pyclone_pgsm.open_trace`, :func:`pyclone_pgsm.analyze` and :func:`pyclone_pgsm.cluster`.
    Tables and numbers are in memory; pictures, the report and exports read the trace.

    Parameters
    ----------
    trace : Trace
        An open trace.
    found : pyclone_pgsm.posterior.summarize.Findings
        Its summary.
    folder : Path or None
        A temporary folder that is removed with the result.

    Attributes
    ----------
    path : Path
        The trace.
    options : RunOptions
        Settings, prior and model of the run.
    summary : Summary or MixtureSummary
        The posterior, as arrays.
    warnings : list of str
        What to consider before trusting the result.
    notes : list of str
        How the result differs from the tables in its folder.
    command : str
        The commands that made the result, one a line.
    """

    summary: Summary | MixtureSummary

    def __init__(self, trace: Trace, found: Findings[Any], folder: Path | None = None) -> None:
        self.path = trace.path
        self._place = trace.path.absolute()  # the working directory may change
        self.options: RunOptions = trace.options
        self.command = trace.command
        self.summary = found.summary
        self.warnings: list[str] = found.warnings
        self.notes: list[str] = []
        self._found = found
        self._likelihood = absolute(trace.check_likelihood())
        self._log_joints = [chain.log_joint for chain in trace.chains]
        self._analysis = ANALYSES[trace.data.kind]
        own = self._analysis.files if self._place.with_name(RUN).exists() else (RUN,)
        self._read_from = (self._place, *map(self._place.with_name, own))
        self._tables = self._analysis.tables(trace, found.summary)
        self._is_temporary = folder is not None
        self._read(trace)
        if folder is not None:
            remove_with(self, folder)

    def _read(self, trace: Trace) -> None:
        """Read what a subclass needs from the trace in addition."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the pictures, which are made from the trace when needed."""
        return {name: value for name, value in self.__dict__.items() if name != "plot"}

    @property
    def mutations(self) -> pd.DataFrame:
        """A copy of ``mutations.tsv``, or of ``assignments.tsv`` if the data are not of a tumour."""
        return self._tables[self._analysis.files[0]].copy()

    @property
    def clusters(self) -> pd.DataFrame:
        """A copy of ``clusters.tsv``."""
        return self._tables["clusters.tsv"].copy()

    @property
    def left_out(self) -> pd.DataFrame:
        """A copy of ``left_out.tsv``; MissingTableError if the data are not of a tumour."""
        if "left_out.tsv" not in self._tables:
            raise MissingTableError(f"{self.path}: only analyses of tumours have a table left_out")
        return self._tables["left_out.tsv"].copy()

    @property
    def converged(self) -> bool:
        """Whether the chains fulfil the rule of convergence."""
        return self._found.convergence.converged

    @property
    def convergence(self) -> str:
        """A line that says whether the chains have converged, with the worst quantities and their limits."""
        return verdict_line(self._found.convergence)

    @property
    def diagnostics(self) -> pd.DataFrame:
        """One row for each traced quantity: mean, ends of the 95 % interval, R-hat, effective sample size.

        For hyperparameters of the likelihood, the mean is the median.
        """
        return pd.DataFrame(self._found.diagnostics)

    def _trace(self) -> Trace:
        if self._is_temporary and not self._place.exists():
            raise TraceError(
                f"{self.path}: this trace was temporary and is gone, with the result that made it or with its folder: "
                "keep it with `out`"
            )
        trace = Trace(self._place, self._likelihood)
        known, now = self._log_joints, [chain.log_joint for chain in trace.chains]
        if not (len(now) == len(known) and all(np.array_equal(n[: len(k)], k) for n, k in zip(now, known))):
            trace.close()
            raise TraceError(
                f"{self.path}: this is no longer the trace of this result, but of another run: use open_trace for that "
                "one, and keep the traces of runs under different names"
            )
        return trace

    @cached_property
    def plot(self) -> Plots:
        """The pictures: ``result.plot.cluster_prevalences()`` and so on."""
        with self._trace() as trace:
            return Plots(**self._analysis.pictures(trace, self._found)())

    def export(
        self,
        format: str,
        out: Path | str,
        *,
        patient: str = DEFAULT_PATIENT,
        primary: str | None = None,
        source: Path | str | None = None,
        source_sample: str | None = None,
        tumour_sample: Mapping[str, str] | None = None,
        drivers: Iterable[str] = (),
        force: bool = False,
    ) -> list[str]:
        """Write the result in the format of another tool.

        Parameters
        ----------
        format : str
            A name in :data:`pyclone_pgsm.exports.FORMATS`.
        out : Path or str
            The file, or the folder if the format has several files.
        patient : str
            Name of the patient, for formats that have one.
        primary : str or None
            Sample of the primary tumour, for ``metient``.
        source : Path, str or None
            The VCF or MAF that ``vcf``, ``maf`` and ``cbioportal`` annotate.
        source_sample : str or None
            The sample of the result to which the only tumour sample of `source` corresponds.
        tumour_sample : dict of str to str, or None
            The names that samples of the result have in `source`, if they are others.
        drivers : iterable of str
            Driver genes and mutations, for ``ctree`` and ``revolver``.
        force : bool
            Replace existing files.

        Returns
        -------
        list of str
            Lines on what the format cannot represent.

        Raises
        ------
        UsageError, InputError, OutputError
            The options do not fit the format, `source` is invalid, or a file cannot be written.
        """
        check_path("out", out, may_be_none=False)
        check_path("source", source)
        if isinstance(drivers, str) or not isinstance(drivers, Iterable):
            refuse("drivers", drivers, "a list of genes and mutations, such as ['TP53']")
        check_kind("tumour_sample", tumour_sample, Mapping | None, "a dict of names by sample of the result")
        names = list(drivers)
        for name in names:
            check_kind("drivers", name, str, "the name of a gene or of a mutation")
        chosen, out = find_format(format), Path(out)
        if not isinstance(self.summary, Summary):
            raise UsageError(
                f"`format` {format}: is for tumours; {self.path} is of {self.options.model.likelihood!r}"
            )
        named = None if source is None else Path(source)
        check_output(chosen, out, force, filter(None, (*self._read_from, named)))
        inferred = {each.name: each.mean for each in self._found.diagnostics}
        with self._trace() as trace:
            data = trace.data_of(TumourData)
        answer = Answer(
            complete(data.observations, inferred),
            self.summary,
            inferred,
            self._tables,
            data.options.genotype_prior,
        )
        in_source = dict(tumour_sample or {})
        options = ExportOptions(patient, primary, named, source_sample, in_source, frozenset(names))
        return export(answer, chosen, out, options)

    def report(self, path: Path | str | None = None, *, force: bool = False) -> Path:
        """Write the report, one HTML page.

        Parameters
        ----------
        path : Path, str or None
            The file; None: ``report.html`` in the folder of the trace.
        force : bool
            Replace an existing file.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        OutputError
            The file exists and `force` is False, or it cannot be written.
        """
        check_path("path", path)
        path = self._place.parent / PAGES["report"] if path is None else Path(path)
        check_file(path, force, self._read_from)
        with self._trace() as trace, replacing_together():
            run = run_report(trace, self._found, self.command, {})
            title = self._place.resolve().parent.name
            make_folder(path.parent)
            write_pages(trace, self._found, self._tables, run, title, {"report": path})
        return path

    def write_pictures(self, folder: Path | str, formats: Sequence[str] = ("png",)) -> list[Path]:
        """Draw all pictures into a folder, instead of pictures of these names there.

        Parameters
        ----------
        folder : Path or str
        formats : sequence of str
            One or more of png, pdf and svg.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        UsageError
            A format is another.
        OutputError
            They cannot be written.
        """
        check_path("folder", folder)
        for name in formats:
            check_choice("formats", name, PICTURE_FORMATS)
        with self._trace() as trace:
            return write_pictures(trace, self._found, Path(folder), formats)

    def __repr__(self) -> str:
        things = count(len(self.summary.labels), SUMMARISERS[self.summary.kind].observation)
        return f"Result({things} in {count(self.summary.num_clusters, 'cluster')}, from {self.path})"

    def _repr_html_(self) -> str:
        warnings = "".join(f"<li>{html.escape(warning)}</li>" for warning in self.warnings)
        convergence = html.escape(self.convergence)
        return (
            f"<p><b>{html.escape(repr(self))}</b>; {convergence}</p>"
            + (f"<ul>{warnings}</ul>" if warnings else "")
            + self.clusters.to_html(index=False, escape=True, max_rows=40, float_format="{:.3f}".format)
        )


def checked_plan(settings: Settings | None, prior: Prior | None) -> tuple[Settings, Prior]:
    """Return settings and prior, by default those of the package; raise UsageError for objects of other types."""
    settings = Settings() if settings is None else settings
    prior = DirichletProcess() if prior is None else prior
    check_kind("settings", settings, Settings, "of the class Settings, as in Settings(iterations=600)")
    if type(prior) not in (*REGISTRY.values(), CustomPrior):  # a trace would hold another one
        refuse("prior", prior, "a prior, as in DirichletProcess() or CustomPrior(..) of pyclone_pgsm.priors")
    return settings, prior


def run_plan(
    kind: type[R],
    plan: Plan,
    *,
    criterion: str | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    trace: Path | str | None = None,
    out: Path | str | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> R:
    """Run the chains of a plan and return their result, of the class `kind`.

    `command` and `progress` are those of :func:`pyclone_pgsm.analyses.run.start`. Results are written to the folder
    `out`, or only the trace to the file `trace`. If both are None, a temporary folder is made, and removed with the
    result. Ctrl-C raises KeyboardInterrupt.
    """
    check_kind("progress", progress, Callable | None, "a function")
    how: dict[str, Any] = {"command": command, "progress": progress}
    found = folder = None
    if out is not None:
        path = Path(out) / TRACE
    elif trace is not None:
        path = Path(trace)
    else:
        folder = Path(tempfile.mkdtemp(prefix="pyclone-pgsm-"))
        path = folder / TRACE
    try:
        if out is not None:
            how |= {"criterion": criterion, "thresholds": thresholds, "pages": ["report"]}
            found = fill_folder(plan, path.parent, **how)
        else:
            start(plan, path, **how)
        with Trace(path, plan.options.model.likelihood) as opened:
            found = found or summarize(opened, criterion, thresholds=thresholds)
            return kind(opened, found, folder)
    except BaseException as problem:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(problem, Interrupted):
            raise KeyboardInterrupt from None
        raise
