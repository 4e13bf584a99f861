"""Conformance: what the documents ask for, and the proof that a platform does it."""
