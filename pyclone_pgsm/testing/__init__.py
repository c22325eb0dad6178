"""Tests for likelihoods from anywhere: :func:`check_likelihood`."""

from pyclone_pgsm.testing.checks import NonConforming as NonConforming
from pyclone_pgsm.testing.checks import check_likelihood as check_likelihood
