"""Commands of `labkit` with much of their own; `cli.py` has the others and adds these."""
