"""Tables of read counts."""
