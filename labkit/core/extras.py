"""Optional libraries, which belong to an extra of labkit: a plain `pip install labkit` lacks them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from labkit.core.errors import LabError


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import libraries of an extra within the block. Raises LabError, naming the extra, for a missing one."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise LabError(f"{error.name} is not installed: {_install(extra)}") from None


@contextmanager
def without_constants() -> Iterator[None]:
    """Keep hypothesis from reading the source of all local modules within the block, to draw the constants in it.

    That takes seconds in each process that shrinks in a checkout, and leaves .hypothesis/constants in its folder.
    """
    from hypothesis.internal.conjecture import providers

    read = providers._get_local_constants
    providers._get_local_constants = lambda: providers._local_constants
    try:
        yield
    finally:
        providers._get_local_constants = read


def check_installed(extra: str, use: str, *modules: str) -> None:
    """Raise LabError where modules of an extra are not installed, before any work begins with them.

    use: beginning of the error message, before the names of the modules, such as "a dashboard takes".
    """
    lacking = [name for name in modules if find_spec(name) is None]
    if lacking:
        raise LabError(f"{use} {', '.join(lacking)}: {_install(extra)}")


def _install(extra: str) -> str:
    return f"pip install 'labkit[{extra}]'"
