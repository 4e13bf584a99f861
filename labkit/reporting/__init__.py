"""Reporting: running notebooks, and the tables, charts and files that come of it."""
