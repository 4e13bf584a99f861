"""Many cases of one test that share what takes longer to set up than a case does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def case(name: object) -> Iterator[None]:
    """Whatever goes wrong inside says which case it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: {name}")
        raise
