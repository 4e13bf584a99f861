"""Solutions: their folders, products and services."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from labkit.settings.values import Host, Label, Model


def _folders(value: Any) -> Any:
    if value is None:
        return ()
    return (value,) if isinstance(value, str | Path) else value


class SolutionSettings(Model):
    """A solution: its folder or folders, the products whose data it handles, the configuration of its services.

    path: of several folders, later ones add to earlier ones.
    """

    id: Label
    domain: Host | None = None
    path: Annotated[tuple[Path, ...], BeforeValidator(_folders)] = ()
    products: tuple[Label, ...] = ()
    services: dict[str, dict[str, Any]] = {}
    environment: dict[str, str] = {}
