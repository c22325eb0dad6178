"""A test for any likelihood: :func:`check_likelihood`."""

from pyclone_pgsm.testing.checks import check_likelihood as check_likelihood
from pyclone_pgsm.testing.examination import NonConforming as NonConforming
