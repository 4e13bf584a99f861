"""The TOML files of the areas: reading them, and what is told where one is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from labkit.core.errors import LabkitError

Sentence = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$")]


class CatalogueError(LabkitError):
    """A file of the catalogue is wrong. entry: the id, the reference, the row or the key that is at fault."""

    def __init__(self, file: str, entry: str, message: str) -> None:
        super().__init__(file, entry, message)  # as they came, so that it can be told to another process
        self.file = file
        self.entry = entry
        self.message = message

    def __str__(self) -> str:
        return f"{self.file}: {self.entry}: {self.message}"


class MalformedEntryError(CatalogueError):
    """Not TOML, or an entry that does not have the form it should."""


class DuplicateEntryError(CatalogueError):
    """An id, a reference or a mutant's name that is there already."""


class EntryModel(BaseModel):
    """An entry of a file: every key is known."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


M = TypeVar("M", bound=EntryModel)


def toml(name: str, file: Traversable) -> dict[str, Any]:
    """What stands in a file. Raises MalformedEntryError."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MalformedEntryError(name, "the file", f"is not TOML: {error}") from None


def parse(model: type[M], values: Mapping[str, Any], name: str, entry: str) -> M:
    """An entry made of its values. name: of the file. Raises MalformedEntryError that names the entry."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise MalformedEntryError(name, entry, f"{where}: {first['msg']}") from None
