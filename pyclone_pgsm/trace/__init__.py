"""The trace of a run; ``LAYOUT`` of :mod:`pyclone_pgsm.trace.schema` describes the file."""

from pyclone_pgsm.trace.merge import merge_traces as merge_traces
from pyclone_pgsm.trace.options import RunOptions as RunOptions
from pyclone_pgsm.trace.reader import ChainTrace as ChainTrace
from pyclone_pgsm.trace.reader import Trace as Trace
from pyclone_pgsm.trace.schema import FORMAT as FORMAT
from pyclone_pgsm.trace.writer import TraceWriter as TraceWriter
from pyclone_pgsm.trace.writer import change_options as change_options
from pyclone_pgsm.trace.writer import create_trace as create_trace
