"""What tests of the bench share."""

from tests.bench.children import forked

__all__ = ["forked"]
