"""Project file of a solution folder, which selects the folder's endpoints, modules, event handlers and assets.

Formats: a YAML file at the root with `formatversion` and `info` (`solution.yaml` by default), and the
older `Solutionfile.json` 0.2 and 0.3. Without a project file the default folders apply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from labkit.core.errors import SettingsError, did_you_mean
from labkit.settings import Model, build
from labkit.solutions.folders.boundary import Boundary
from labkit.solutions.folders.cors import Cors, Names
from labkit.solutions.folders.folder_finding import FolderFinding, warning

DEFAULT = "solution.yaml"
OLDER = "Solutionfile.json"
KEYS = {"formatversion", "info"}  # of every project file
SECTIONS = ("assets", "endpoints", "modules", "services")
SUGGESTED = (*SECTIONS, "routes", "init_script")
OLDER_KEYS = (
    "default_page", "assets", "file_dir", "routes", "custom_api", "routes_hook", "custom_api_hook", "modules",
    "services", "event_handler", "cors", "version", "product_spec", "name",
)  # fmt: skip


class Section(Model):
    """Selection of the files below `location` that match a pattern of `include` and none of `exclude`.

    A pattern without a slash matches at any depth.
    """

    location: str
    include: Names = ("**/*.lua",)
    exclude: Names = ()


class Assets(Section):
    """Section of static files; the path `/` serves `default_page`."""

    location: str = "assets"
    include: Names = ("**/*",)
    exclude: Names = ("**/.*",)
    default_page: str = "index.html"


class Endpoints(Section):
    """Section of routes. cors: settings, or the name of a file with them."""

    location: str = "endpoints"
    cors: Cors | str = Cors()


class Modules(Section):
    """Section of Lua modules for `require`. Tests beside them are none: they would run with the modules."""

    location: str = "modules"
    exclude: Names = ("*_test.lua", "*_spec.lua")


class ServicesSection(Section):
    """Section of event handlers and service configuration."""

    location: str = "services"


class Info(BaseModel):
    """Title of a project."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = ""


S = TypeVar("S", bound=Section)


def _section(value: Any) -> Any:
    return {} if value is None else value  # a key without a value, such as `endpoints:`, means the defaults


def _older_cors(value: Any) -> Any:
    if isinstance(value, str):
        return (
            json.loads(value) if value.strip() else {}
        )  # published folders have an empty text for the defaults
    return value


class Project(BaseModel):
    """Contents of a project file. The files of an absent section are ignored."""

    model_config = ConfigDict(extra="allow", frozen=True)

    formatversion: Literal["1.0.0"]
    info: Annotated[Info, BeforeValidator(_section)]
    assets: Annotated[Assets | None, BeforeValidator(_section)] = None
    endpoints: Annotated[Endpoints | None, BeforeValidator(_section)] = Field(
        None, validation_alias=AliasChoices("endpoints", "routes")
    )
    modules: Annotated[Modules | None, BeforeValidator(_section)] = None
    services: Annotated[ServicesSection | None, BeforeValidator(_section)] = None
    init_script: str | None = None
    # Valid keys without an effect here: options of publishing, a schema of variables, a product's resources.
    options: Any = None
    env_schema: Any = None
    resources: Any = None


class Solutionfile(BaseModel):
    """Contents of an older project file, with the keys of 0.2 and 0.3, all optional."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    default_page: str = "index.html"
    assets: str | None = Field(None, validation_alias=AliasChoices("assets", "file_dir"))
    routes: str | None = Field(None, validation_alias=AliasChoices("routes", "custom_api"))
    hook: str | None = Field(None, validation_alias=AliasChoices("routes_hook", "custom_api_hook"))
    modules: dict[str, str] = {}
    services: dict[str, dict[str, str]] = Field(
        {}, validation_alias=AliasChoices("services", "event_handler")
    )
    cors: Annotated[Cors, BeforeValidator(_older_cors)] = Cors()


def find(boundary: Boundary, findings: list[FolderFinding]) -> Project | Solutionfile:
    """Return the project of a folder, and append to `findings`. Raises SettingsError naming file, key and line."""
    folder = boundary.folder
    named = [folder / DEFAULT] if (folder / DEFAULT).is_file() else _yaml_projects(boundary, findings)
    if named:
        findings += [warning(other.name, f"ignored, {named[0].name} comes first") for other in named[1:]]
        return _read(boundary, named[0], findings)
    if (folder / OLDER).is_file():
        return _read_older(boundary, folder / OLDER, findings)
    return Project(
        formatversion="1.0.0",
        info=Info(),
        assets=_present(folder, Assets(), "files"),
        endpoints=_endpoints(folder),
        modules=Modules(),
        services=_present(folder, ServicesSection(), "eventhandlers", "event_handler"),
    )


def cors(boundary: Boundary, given: Cors | str, findings: list[FolderFinding]) -> Cors:
    """Return the cors settings, reading them if `given` is the name of a file; append a warning for each mistake.

    Raises SettingsError.
    """
    if isinstance(given, Cors):
        findings += _doubts_of_cors("cors", given, {})
        return given
    values, lines = boundary.read_yaml(boundary.resolve("cors", given))
    found = build(Cors, values, given, {f"{given}.{key}": line for key, line in lines.items()})
    findings += _doubts_of_cors(given, found, lines)
    return found


def _doubts_of_cors(file: str, found: Cors, lines: dict[str, int]) -> Iterator[FolderFinding]:
    for key, text in found.doubts():
        yield warning(file, f"{key}: {text}", lines.get(key, 0))


def _yaml_projects(boundary: Boundary, findings: list[FolderFinding]) -> list[Path]:
    """Return the YAML files that are project files; append a warning for an unreadable file."""
    found = []
    for file in sorted([*boundary.folder.glob("*.yaml"), *boundary.folder.glob("*.yml")]):
        boundary.check(file)
        try:
            values, _ = boundary.read_yaml(file)
        except SettingsError as error:
            findings.append(warning(file.name, f"{str(error).removeprefix(f'{file.name}: ')}; ignored"))
            continue
        if isinstance(values, dict) and values.keys() >= KEYS:
            found.append(file)
    return found


def _read(boundary: Boundary, file: Path, findings: list[FolderFinding]) -> Project:
    values, lines = boundary.read_yaml(file)
    if isinstance(values, dict) and "formatversion" in values:
        values["formatversion"] = str(values["formatversion"])
    try:
        project = build(Project, values, "", lines)
    except SettingsError as error:
        raise SettingsError(f"{file.name}: {error}") from None
    findings += [
        warning(file.name, f"{key}: unknown key, ignored{did_you_mean(key, SUGGESTED)}", lines.get(key, 0))
        for key in project.model_extra or ()
    ]
    for name in SECTIONS:
        section: Section | None = getattr(project, name)
        if section:
            line = lines.get(f"{name}.location", lines.get("routes.location"))
            where = f" (line {line})" if line else ""
            try:
                there = boundary.resolve(f"{name}.location", section.location).exists()
            except SettingsError as error:
                raise SettingsError(f"{file.name}: {error}{where}") from None
            if not there:  # Git keeps no empty folders
                findings.append(warning(file.name, f"{name}.location: no {section.location!r}{where}"))
    return project


def _read_older(boundary: Boundary, file: Path, findings: list[FolderFinding]) -> Solutionfile:
    """Return an older project; append a warning for each key that resembles a known one."""
    try:
        values = json.loads(boundary.read_text(file))
        project = build(Solutionfile, values)
    except (ValueError, RecursionError) as error:  # RecursionError: too many nested brackets
        raise SettingsError(f"{file.name}: cannot be read: {error}") from None
    except SettingsError as error:
        raise SettingsError(f"{file.name}: {str(error).removeprefix(f'{file.name}: ')}") from None
    findings += [
        warning(file.name, f"{key}: unknown key, ignored{similar}")
        for key in values
        if (similar := did_you_mean(key, OLDER_KEYS))  # empty for a known key
    ]
    findings += _doubts_of_cors(f"{file.name}: cors", project.cors, {})
    return project


def _present(folder: Path, section: S, *others: str) -> S:
    """Return `section` at its default folder, or else at the first of the other folders that exists."""
    for name in (section.location, *others):
        if (folder / name).is_dir():
            return section.model_copy(update={"location": name})
    return section


def _endpoints(folder: Path) -> Endpoints:
    section = _present(folder, Endpoints(), "routes")
    return section.model_copy(update={"cors": "cors.yaml"}) if (folder / "cors.yaml").is_file() else section
