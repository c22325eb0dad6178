"""Mutation calls with read counts, before copy numbers are known: VCF of the usual callers, MAF, or a plain table."""
