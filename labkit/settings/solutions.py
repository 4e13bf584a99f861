"""Solutions: their folders, products and services."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labkit.settings.values import Host, Label, Model


class SolutionSettings(Model):
    """A solution: its folder, the products whose data it handles, the configuration of its services."""

    id: Label
    domain: Host | None = None
    path: Path | None = None
    products: tuple[Label, ...] = ()
    services: dict[str, dict[str, Any]] = {}
    environment: dict[str, str] = {}
