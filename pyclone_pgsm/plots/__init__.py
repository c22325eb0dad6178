"""Pictures of a finished run; :mod:`~pyclone_pgsm.plots.tumour` and :mod:`~pyclone_pgsm.plots.mixture` list them.

Each picture is a function that returns a matplotlib Figure. The pictures neither use pyplot nor change any matplotlib
setting. Modules that draw nothing, like :mod:`~pyclone_pgsm.plots.appearance`, do not import matplotlib.
"""
