"""Likely mistakes of solutions: in folders, scripts and tests, as `labkit check` and a load tell them."""
