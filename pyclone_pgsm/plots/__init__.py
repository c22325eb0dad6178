"""Pictures of a finished run: :mod:`~pyclone_pgsm.plots.tumour` and :mod:`~pyclone_pgsm.plots.mixture` have them all.

Each picture is a function that returns a matplotlib Figure. Neither pyplot nor any setting of matplotlib is used or
changed, and what needs no picture, as :mod:`~pyclone_pgsm.plots.appearance`, is imported without it.
"""
