"""The services that a solution has: those of the lab, and those that services give to it alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from labkit.context import NamedService
from labkit.core.directory import Directory
from labkit.services.operation import Service


def services_of(directory: Directory[NamedService], solution: str) -> Iterator[tuple[str, Service]]:
    """Name and service, of all that a solution has."""
    shared = cast("Directory[Service]", directory)
    for service in shared:
        yield service.name, service
    for service in shared:
        for name, own in service.services(solution).items():
            if name == own.name:  # others are further names of it
                yield name, own


def find_service(directory: Directory[NamedService], solution: str, name: str) -> Service | None:
    """The service that a solution has under this name, if there is one."""
    shared = cast("Directory[Service]", directory)
    found = shared.find(name)
    if found is not None:
        return found
    return next((own for each in shared if (own := each.services(solution).get(name)) is not None), None)
