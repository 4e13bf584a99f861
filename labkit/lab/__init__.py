"""Handles of a lab for notebooks: thin, synchronous and typed, one subject per file. The platform does the work."""
