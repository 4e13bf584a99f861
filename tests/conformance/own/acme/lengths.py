"""A file beside the checks, which they import."""

DIGITS = 10
