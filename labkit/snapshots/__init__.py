"""Snapshots: the whole state of a lab as bytes, and its restoration in another lab."""
