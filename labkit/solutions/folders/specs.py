"""Files of a folder that describe what the solution needs elsewhere: roles.yaml and specs/resources.yaml."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict

from labkit.core.errors import SettingsError, did_you_mean
from labkit.settings import Resource, build, listed
from labkit.settings.validation import line_of
from labkit.solutions.folders.boundary import Boundary
from labkit.solutions.folders.folder_finding import FolderFinding, warning

ROLES = "roles.yaml"
RESOURCES = ("specs/resources.yaml", "specs/resources.yml")
KNOWN = tuple(Resource.model_fields)
FORMATS: tuple[str, ...] = get_args(Resource.model_fields["format"].annotation)


def _listed(value: object) -> object:
    return [] if value is None else value


class RoleEntry(BaseModel):
    """A role that a solution needs: its id, and its parameters as `{name}`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    role_id: str
    parameter: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_listed)] = ()


class RolesFile(BaseModel):
    """Contents of roles.yaml."""

    model_config = ConfigDict(frozen=True)

    roles: Annotated[tuple[RoleEntry, ...], BeforeValidator(_listed)] = ()


def roles(root: Boundary, findings: list[FolderFinding]) -> list[RoleEntry]:
    """Return the roles in a folder's roles.yaml; append a warning for each key that has no effect.

    Raises SettingsError naming file, key and line.
    """
    if not (file := root.folder / ROLES).is_file():
        return []
    values, lines = root.read_yaml(file)
    lines = {f"roles{key}": line for key, line in lines.items()}
    try:
        found = list(build(RolesFile, {"roles": values or []}, lines=lines).roles)
        findings += _unknown_of_roles(found, lines)
        return found
    except SettingsError as error:
        wrong = [f"{ROLES}: {each}" for each in error.parts]
    raise SettingsError(listed(wrong), wrong)


def _unknown_of_roles(found: list[RoleEntry], lines: dict[str, int]) -> Iterator[FolderFinding]:
    """Yield a warning for each key that a role or its parameter does not have."""
    for number, role in enumerate(found):
        tables: list[tuple[str, Mapping[str, Any], Collection[str]]]
        tables = [(f"roles[{number}]", role.model_extra or {}, RoleEntry.model_fields)]
        for index, each in enumerate(role.parameter):
            tables.append((f"roles[{number}].parameter[{index}]", each, ("name",)))
        for where, table, known in tables:
            for key in table:
                if key not in known:
                    text = f"{where}.{key}: unknown key, ignored{did_you_mean(key, known)}"
                    yield warning(ROLES, text, line_of(lines, f"{where}.{key}"))


def resources(root: Boundary, findings: list[FolderFinding]) -> dict[str, dict[str, Any]]:
    """Return the resources in specs/resources.yaml, by alias; append a warning for each that products cannot have.

    The older form is a list `resources` of tables with an alias. Raises SettingsError for a file that has neither form,
    and for each misspelt format.
    """
    found: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    for name in RESOURCES:
        if not (file := root.folder / name).is_file():
            continue
        values, lines = root.read_yaml(file)
        for alias, given, key in _by_alias(name, values or {}):
            line = line_of(lines, key)
            table = {"format": given} if not isinstance(given, dict) and given is not None else given or {}
            findings += _misspelt(name, str(alias), table, line)
            chosen = {key: each for key, each in table.items() if key in KNOWN and each is not None}
            try:
                build(Resource, chosen, str(alias))
                found[str(alias)] = chosen
            except SettingsError as error:
                similar = did_you_mean(chosen.get("format"), FORMATS)
                if similar:
                    wrong.append(f"{name}:{line}: {error}{similar}")
                else:
                    findings.append(warning(name, f"{error}; ignored", line))
    if wrong:
        raise SettingsError(listed(wrong), wrong)
    return found


def _by_alias(name: str, values: object) -> Iterator[tuple[Any, Any, str]]:
    """Yield alias, value and key of each resource in a file of either form. Raises SettingsError for another form."""
    if not isinstance(values, dict):
        raise SettingsError(f"{name}: expected resources by alias, not {type(values).__name__}")
    older = values.get("resources")
    if not isinstance(older, list):
        yield from ((alias, given, str(alias)) for alias, given in values.items())
        return
    for number, each in enumerate(older):
        if not isinstance(each, dict) or not isinstance(each.get("alias"), str):
            raise SettingsError(f"{name}: resources[{number}].alias: is required")
        yield each["alias"], each, f"resources[{number}]"


def _misspelt(name: str, alias: str, given: dict[Any, Any], line: int) -> Iterator[FolderFinding]:
    """Yield a warning for each key of a resource that resembles a known one."""
    for key in given:
        if similar := did_you_mean(key, KNOWN):
            yield warning(name, f"{alias}.{key}: unknown key, ignored{similar}", line)
    if given.get("type") in FORMATS and "format" not in given:
        yield warning(name, f"{alias}: has no format; did you mean format: {given['type']}?", line)
