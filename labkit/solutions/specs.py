"""Files of a folder that describe what the solution needs elsewhere: roles.yaml and specs/resources.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import read_yaml
from labkit.settings import Resource, build
from labkit.solutions.boundary import Boundary

ROLES = "roles.yaml"
RESOURCES = ("specs/resources.yaml", "specs/resources.yml")


def _listed(value: object) -> object:
    return [] if value is None else value


class RoleEntry(BaseModel):
    """A role that a solution needs: its id, and its parameters as `{name}`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role_id: str
    parameter: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_listed)] = ()


class RolesFile(BaseModel):
    """Contents of roles.yaml."""

    model_config = ConfigDict(frozen=True)

    roles: Annotated[tuple[RoleEntry, ...], BeforeValidator(_listed)] = ()


def roles(root: Boundary) -> list[RoleEntry]:
    """Return the roles in a folder's roles.yaml. Raises SettingsError naming file and key."""
    if not (file := root.folder / ROLES).is_file():
        return []
    values, _ = read_yaml(root.check(file))
    try:
        return list(build(RolesFile, {"roles": values or []}).roles)
    except SettingsError as error:
        raise SettingsError(f"{ROLES}: {error}") from None


def resources(root: Boundary, warnings: list[str]) -> dict[str, dict[str, Any]]:
    """Return the resources in specs/resources.yaml, by alias; append a warning for each that products cannot have.

    Raises SettingsError for a file that is no mapping.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in RESOURCES:
        if not (file := root.folder / name).is_file():
            continue
        values, _ = read_yaml(root.check(file))
        if not isinstance(values or {}, dict):
            raise SettingsError(f"{name}: expected resources by alias, not {type(values).__name__}")
        for alias, given in _resources(values or {}):
            try:
                build(Resource, given, str(alias))
                found[str(alias)] = given
            except SettingsError as error:
                warnings.append(f"{name}: {error}; ignored")
    return found


def _resources(values: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each resource with the keys that products know; a text is its format."""
    known = Resource.model_fields
    for alias, given in values.items():
        if isinstance(given, dict):
            yield alias, {key: each for key, each in given.items() if key in known and each is not None}
        else:
            yield alias, {} if given is None else {"format": given}
