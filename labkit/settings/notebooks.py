"""Where the notebooks and the example solutions are: inside an installed labkit, or beside a checkout's package."""

from __future__ import annotations

from pathlib import Path

from labkit.core.errors import SettingsError

NAME = "notebooks"
PACKAGE = Path(__file__).parents[1]


def notebooks_folder() -> Path:
    """The folder of labkit's own notebooks. Raises SettingsError where labkit came without them."""
    for home in (PACKAGE, PACKAGE.parent):
        if (home / NAME).is_dir():
            return home / NAME
    raise SettingsError(
        f"labkit came without its notebooks: neither {PACKAGE} nor {PACKAGE.parent} holds them"
    )


def find(name: Path, folder: Path) -> Path:
    """A file or folder by its name relative to `folder`; `notebooks/…` is labkit's own where that is not there."""
    path = folder / name
    if path.exists() or name.is_absolute() or name.parts[:1] != (NAME,):
        return path
    return notebooks_folder().joinpath(*name.parts[1:])
