"""Copy-number segments of the usual callers, and their join with mutations.

`read_segments` reads files of any of the `FORMATS` into one table with one row per segment; `join` gives each mutation
the copy numbers of its segment.
"""

from pyclone_pgsm.inputs.segments.formats import FORMATS
from pyclone_pgsm.inputs.segments.joining import join
from pyclone_pgsm.inputs.segments.model import Hint, Segments, combined
from pyclone_pgsm.inputs.segments.reading import read_segments, sample_stem

__all__ = ["FORMATS", "Hint", "Segments", "combined", "join", "read_segments", "sample_stem"]
