"""Calls of Notify from scripts (document 3)."""
