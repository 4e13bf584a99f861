"""Fixtures of the tests of the bench."""

from tests.bench.children import forked

__all__ = ["forked"]
