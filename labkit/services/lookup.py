"""Lookup of services by name: services shared by all solutions, and services of a single solution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from labkit.context import NamedService
from labkit.core.directory import Directory
from labkit.services.operation import Service


def services_of(directory: Directory[NamedService], solution: str) -> Iterator[tuple[str, Service]]:
    """Yield name and service for every service that a solution can call."""
    shared = cast("Directory[Service]", directory)
    for service in shared:
        yield service.name, service
    for service in shared:
        for name, own in service.services(solution).items():
            if name == own.name:  # skips aliases of the same service
                yield name, own


def find_service(directory: Directory[NamedService], solution: str, name: str) -> Service | None:
    """Return the service with this name in a solution, or None."""
    shared: Directory[Any] = directory  # of services; a cast would be a call for each that is made
    found: Service | None = shared.find(name)
    if found is not None:
        return found
    for each in shared.values():
        found = each.services(solution).get(name)
        if found is not None:
            return found
    return None
