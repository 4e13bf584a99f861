"""The named things of one kind in a lab: products, solutions, services, providers."""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from typing import Generic, TypeVar

from labkit.core.errors import LabError, SettingsError, unknown

T = TypeVar("T")


class Directory(Generic[T]):
    """Things by name, in the order in which they came.

    kind: what they are called in errors (`product`); revision: count of the changes, of which `changed` adds one.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.revision = 0
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Raises SettingsError where the name is taken."""
        if name in self._items:
            raise SettingsError(f"{self.kind} {name!r} is there already")
        self._items[name] = item
        self.changed()

    def remove(self, name: str) -> T:
        """Take a thing out. Raises LabError where there is none of this name."""
        item = self.get(name)
        del self._items[name]
        self.changed()
        return item

    def replace(self, name: str, item: T) -> T:
        """Put another in the place of a thing, which it gives. Raises LabError where there is none of this name."""
        replaced = self.get(name)
        self._items[name] = item
        self.changed()
        return replaced

    def changed(self) -> None:
        """Count a change: also one of what a thing of this directory offers."""
        self.revision += 1

    def get(self, name: str) -> T:
        """Raises LabError naming those that are there."""
        try:
            return self._items[name]
        except KeyError:
            raise LabError(unknown(self.kind, name, self._items)) from None

    def find(self, name: str) -> T | None:
        """The thing of this name, if there is one."""
        return self._items.get(name)

    def names(self) -> list[str]:
        return list(self._items)

    def values(self) -> ValuesView[T]:
        """The things themselves, as they come and go: whether there are any is known without a call of Python's."""
        return self._items.values()

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items
