"""The likelihood of read counts in tumours, and its statistic of a block."""

from pyclone_pgsm.likelihoods.pyclone.likelihood import PyClone as PyClone
from pyclone_pgsm.likelihoods.pyclone.likelihood import make_pyclone as make_pyclone
from pyclone_pgsm.likelihoods.pyclone.likelihood import with_base as with_base
from pyclone_pgsm.likelihoods.pyclone.prevalences import draw_grid_points as draw_grid_points
