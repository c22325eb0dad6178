"""Mutation calls with read counts, before copy numbers are known: VCF of the usual callers, MAF, or a plain table.

`read_variants` is the entry point: it recognises the kind of each file by its content, and combines all files into one
table with one row per mutation and sample.
"""

from pyclone_pgsm.inputs.mutations.model import VariantFile, Variants, mutation_ids
from pyclone_pgsm.inputs.mutations.reading import read_variants

__all__ = ["VariantFile", "Variants", "mutation_ids", "read_variants"]
