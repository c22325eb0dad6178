"""The command line; it contains no science."""
