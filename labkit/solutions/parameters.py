"""Parameters of a solution's services, from all places that set them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from labkit.solutions.solution import PlatformSolution


def layers(
    solution: PlatformSolution,
    services: Iterable[str],
    by_scripts: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the parameters of a solution's services, by service.

    Later sources override earlier ones: the folder, the settings, cells, and scripts (by_scripts). services: the known
    names; files may spell them in lower case.
    """
    names = {name.lower(): name for name in services}
    found: dict[str, dict[str, Any]] = {}
    for layer in (
        solution.folder.configuration,
        solution.settings.services,
        solution.configured,
        by_scripts or {},
    ):
        for service, parameters in layer.items():
            found.setdefault(names.get(service.lower(), service), {}).update(parameters)
    return found
