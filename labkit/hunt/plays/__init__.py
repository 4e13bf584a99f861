"""Plays of a story: one future each, from a seed, from bytes, or from a file."""
