"""Hunts: many plays in search of one that breaks a promise, which is cut down and written."""
