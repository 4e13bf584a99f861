"""Parameters of a solution's services, from all places that set them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from labkit.core.errors import SettingsError
from labkit.services.calls import Services
from labkit.settings import listed
from labkit.solutions.folders.configuration import in_file
from labkit.solutions.solution import PlatformSolution
from labkit.solutions.web import web_settings


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


def check_parameters(solution: PlatformSolution, services: Services, where: str) -> None:
    """Raise SettingsError if a service refuses its parameters from folder, settings and cells. where: for errors."""
    given = layers(solution, [each.name for each in services])
    others = {**solution.settings.services, **solution.configured}
    wrong: list[str] = []
    for each in (partial(services.check, solution, given), partial(web_settings.read, given)):
        try:
            each()
        except SettingsError as error:
            wrong += in_file(error, solution.folder.configured, others).parts
    if wrong:
        parts = [f"{where}: {each}" for each in wrong]
        raise SettingsError(listed(parts), parts)
