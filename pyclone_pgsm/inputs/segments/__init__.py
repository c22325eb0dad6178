"""Copy-number segments of the usual callers, and their join with mutations."""
