"""Location of labkit's notebooks and example solutions: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

from labkit.core.errors import SettingsError

NAME = "notebooks"
PACKAGE = Path(__file__).parents[1]


def notebooks_folder() -> Path:
    """Return the folder of labkit's own notebooks. Raises SettingsError if labkit was installed without them."""
    for home in (PACKAGE, PACKAGE.parent):
        if (home / NAME).is_dir():
            return home / NAME
    raise SettingsError(
        f"labkit came without its notebooks: neither {PACKAGE} nor {PACKAGE.parent} holds them"
    )


def resolve(name: Path, folder: Path) -> Path:
    """Return the path of a name relative to `folder`. A missing `notebooks/…` is resolved to labkit's own notebooks."""
    path = folder / name
    if path.exists() or name.is_absolute() or name.parts[:1] != (NAME,):
        return path
    return notebooks_folder().joinpath(*name.parts[1:])
