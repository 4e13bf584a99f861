"""Reader of the TOML files of the areas, and the errors of a wrong file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from labkit.core.errors import LabkitError

Sentence = Annotated[str, StringConstraints(pattern=r"^\S(.*\S)?$")]


class CatalogueError(LabkitError):
    """An invalid catalogue file. entry: the id, reference, row or key that is at fault."""

    def __init__(self, file: str, entry: str, message: str) -> None:
        super().__init__(file, entry, message)  # unchanged, so that it can be pickled for another process
        self.file = file
        self.entry = entry
        self.message = message

    def __str__(self) -> str:
        return f"{self.file}: {self.entry}: {self.message}"


class MalformedEntryError(CatalogueError):
    """A file that is not TOML, or an entry of a wrong form."""


class DuplicateEntryError(CatalogueError):
    """An id, a reference or a mutant's name that is used twice."""


class EntryModel(BaseModel):
    """Base of the entries of a file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


M = TypeVar("M", bound=EntryModel)


def toml(name: str, file: Traversable) -> dict[str, Any]:
    """Return the parsed content of a TOML file. Raises MalformedEntryError."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MalformedEntryError(name, "the file", f"is not TOML: {error}") from None


def parse(model: type[M], values: Mapping[str, Any], name: str, entry: str) -> M:
    """Return a validated entry. name: of the file. Raises MalformedEntryError that names the entry."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = first["msg"].replace("Input should be", "expected", 1)
        message = message.replace("String should match pattern", "expected a text of the form", 1)
        given = f", not {first['input']!r}" if isinstance(first["input"], str | int | float) else ""
        raise MalformedEntryError(
            name, entry, f"{where}: {message}{given if message != first['msg'] else ''}"
        ) from None
