"""Registry of the publishers of a lab, with their definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.context import Context, NamedSolution
from labkit.core.errors import SettingsError
from labkit.services.interface.configuration import Definition
from labkit.services.interface.dispatch import OPERATION, SERVICE, argument_names
from labkit.services.interface.published import PublishedOperation
from labkit.services.operation import Operation

ID = re.compile(r"[a-z][a-z0-9]*")


class Publishers:
    """Definitions of the publishing solutions, read from their configuration of the service."""

    def __init__(self, context: Context, service: str) -> None:
        """Create an empty registry. service: the section of a solution's configuration that has its definition."""
        self._context = context
        self._service = service
        self._all: dict[str, Definition] = {}
        self._operations: dict[str, dict[str, Mapping[str, Operation]]] = {}  # by publisher, then by service

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._all))

    def find(self, solution: str) -> Definition | None:
        """Return the definition of the solution with this id, or None if it is missing or publishes nothing."""
        return self._all.get(solution)

    def of_key(self, key: str) -> str | None:
        """Return the id of the first publisher with this id or default_script_key, in any letter case, or None."""
        key = key.lower()
        for id, definition in self._all.items():
            if key in (definition.default_script_key.lower(), id):
                return id
        return None

    def operations(self, solution: str, service: str) -> Mapping[str, Operation]:
        """Return the operations of a publisher by name. service: the name of its service at a subscriber.

        Subscribers that use the same name share the same objects.
        """
        known = self._operations.setdefault(solution, {})
        if service not in known:
            published = self._all[solution].operations.values()
            known[service] = {each.name: PublishedOperation(service, each) for each in published}
        return known[service]

    def check(self, solution: NamedSolution, plain: Mapping[str, Any]) -> None:
        """Raise SettingsError, naming the first invalid key of a definition."""
        try:
            check_id(solution.id, "the id of a publisher")
            definition = Definition.read(plain, solution=solution.id, name=solution.id)
            for number, operation in enumerate(definition.operations.values()):
                solution.check_script(f"operations[{number}].script", operation.script)
            for number, event in enumerate(definition.events.values()):
                solution.check_script(f"events[{number}].default_script", event.default_script)
        except SettingsError as error:
            raise SettingsError(f"services.{self._service}: {error}") from None

    def read(self, solution: str) -> None:
        """Load the checked configuration of a solution, and install the scripts of its operations as handlers.

        An operation that has a handler of the solution's own keeps it.
        """
        plain = self._context.configuration.get(solution, {}).get(self._service)
        before = self._all.pop(solution, None)
        self._operations.pop(solution, None)
        publisher = self._context.solutions.find(solution)
        if publisher is None:
            return
        if plain is not None:
            definition = self._all[solution] = Definition.read(plain, solution=solution, name=solution)
            known = () if before is None else tuple(before.warnings())
            for text in definition.warnings():
                if text not in known:
                    publisher.warn(f"services.{self._service}: {text}")
        elif before is None:
            return
        operations = self._all[solution].operations.values() if plain is not None else ()
        scripts = {each.name: each.script for each in operations if each.script}
        names = {each.name: argument_names(each.parameters, *OPERATION.arguments) for each in operations}
        publisher.install(SERVICE, scripts, names)

    def clear(self) -> None:
        self._all.clear()
        self._operations.clear()


def check_id(id: str, what: str) -> None:
    """Raise SettingsError if an id lacks document 3's format of subscriber ids. what: names the id in the error."""
    if not ID.fullmatch(id):
        raise SettingsError(f"{what} has to be lower-case letters and digits, a letter first, not {id!r}")
