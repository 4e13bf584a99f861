"""Registry of the named objects of one kind in a lab: products, solutions, services, providers."""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from typing import Generic, TypeVar

from labkit.core.errors import SettingsError, UnknownError, unknown

T = TypeVar("T")


class Directory(Generic[T]):
    """Objects by name, in the order in which they were added.

    kind: noun for errors (`product`); revision: number of changes, which `changed` increments.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.revision = 0
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Add an object. Raises SettingsError where the name is in use."""
        if name in self._items:
            raise SettingsError(f"{self.kind} {name!r} is there already")
        self._items[name] = item
        self.revision += 1

    def remove(self, name: str) -> T:
        """Remove and return an object. Raises UnknownError where there is none of this name."""
        item = self.get(name)
        del self._items[name]
        self.changed()
        return item

    def replace(self, name: str, item: T) -> T:
        """Replace an object and return the old one. Raises UnknownError where there is none of this name."""
        replaced = self.get(name)
        self._items[name] = item
        self.changed()
        return replaced

    def changed(self) -> None:
        """Count a change, also one within an object."""
        self.revision += 1

    def get(self, name: str) -> T:
        """Return the object with this name. Raises UnknownError, listing the existing names, if there is none."""
        try:
            return self._items[name]
        except KeyError:
            raise UnknownError(unknown(self.kind, name, self._items)) from None

    def find(self, name: str) -> T | None:
        """Return the object with this name, or None."""
        return self._items.get(name)

    def names(self) -> list[str]:
        """Return the names, in the order in which the objects were added."""
        return list(self._items)

    def values(self) -> ValuesView[T]:
        """Return a live view of the objects; its truth value costs no call of a Python function."""
        return self._items.values()

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items
