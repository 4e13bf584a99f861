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


def check_installed(extra: str, use: str, *modules: str) -> None:
    """Raise LabError where modules of an extra are not installed, before any work begins with them.

    use: beginning of the error message, before the names of the modules, such as "a dashboard takes".
    """
    lacking = [name for name in modules if find_spec(name) is None]
    if lacking:
        raise LabError(f"{use} {', '.join(lacking)}: {_install(extra)}")


def _install(extra: str) -> str:
    return f"pip install 'labkit[{extra}]'"
