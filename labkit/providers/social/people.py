"""People with an account at an identity provider."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from labkit.core.errors import LabError, SettingsError, TakenError, UnknownError, unknown
from labkit.settings import Person, build


class PeopleDirectory:
    """People of a provider by id, in the order of their addition."""

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}

    def reset(self, people: Iterable[Person]) -> None:
        """Replace all people by these."""
        self._people = {person.id: person for person in people}

    def add(self, id: str, name: str = "", email: str = "") -> Person:
        """Add and return a person. Raises LabError if the id is in use or a value is invalid."""
        try:
            person = build(Person, {"id": id, "name": name, "email": email})
        except SettingsError as error:
            raise LabError(f"person: {error}") from None
        if id in self._people:
            raise TakenError(f"person {id!r} is there already: {self._people[id].title}")
        self._people[id] = person
        return person

    def get(self, id: str) -> Person:
        """Return the person with this id. Raises UnknownError, listing the existing ids, if there is none."""
        if id not in self._people:
            raise UnknownError(unknown("person", id, self._people))
        return self._people[id]

    def __contains__(self, id: object) -> bool:
        return id in self._people

    def __iter__(self) -> Iterator[Person]:
        return iter(tuple(self._people.values()))

    def __len__(self) -> int:
        return len(self._people)

    def __repr__(self) -> str:
        return f"<people: {', '.join(self._people) or 'none'}>"
