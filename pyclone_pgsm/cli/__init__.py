"""The command line. No science."""
