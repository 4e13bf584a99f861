"""The people whom an identity provider knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from labkit.core.errors import LabError, SettingsError, unknown
from labkit.settings import Person, build


class PeopleDirectory:
    """The people of a provider, in the order in which they came."""

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}

    def reset(self, people: Iterable[Person]) -> None:
        """Know these alone."""
        self._people = {person.id: person for person in people}

    def add(self, id: str, name: str = "", email: str = "") -> Person:
        """Add somebody. Raises LabError where the id is taken or is none."""
        try:
            person = build(Person, {"id": id, "name": name, "email": email})
        except SettingsError as error:
            raise LabError(f"person: {error}") from None
        if id in self._people:
            raise LabError(f"person {id!r} is there already: {self._people[id].title}")
        self._people[id] = person
        return person

    def get(self, id: str) -> Person:
        """Raises LabError for an unknown id, naming those that are known."""
        if id not in self._people:
            raise LabError(unknown("person", id, self._people))
        return self._people[id]

    def __contains__(self, id: object) -> bool:
        return id in self._people

    def __iter__(self) -> Iterator[Person]:
        return iter(tuple(self._people.values()))

    def __len__(self) -> int:
        return len(self._people)

    def __repr__(self) -> str:
        return f"<people: {', '.join(self._people) or 'none'}>"
