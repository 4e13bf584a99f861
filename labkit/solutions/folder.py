"""Reader of a solution folder: scripts, modules, service configuration and assets (no Lua runs here).

Reads endpoints/*.lua, services/*.lua, services/<service>.yaml, modules/*.lua, assets/**, or other locations from the
project file (project.py), all inside the folder (boundary.py), endpoints/schema.yml, roles.yaml and
specs/resources.yaml.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import read_yaml
from labkit.settings import listed
from labkit.settings.notebooks import resolve
from labkit.solutions import project as projects
from labkit.solutions import schema_file, scripts, specs
from labkit.solutions.boundary import Boundary
from labkit.solutions.cors import Cors
from labkit.solutions.documentation import merged
from labkit.solutions.project import Project, Section, Solutionfile
from labkit.solutions.scripts import EndpointScript, EventScript, ScriptSource
from labkit.solutions.specs import RoleEntry
from labkit.solutions.strays import strays

YAML = (".yaml", ".yml")


class Asset(NamedTuple):
    """Static file of a solution folder, read again for every request."""

    file: Path
    boundary: Boundary

    @property
    def name(self) -> str:
        """File name, without folders."""
        return self.file.name

    def read(self) -> bytes:
        """Return the file's bytes. Raises SettingsError if it resolves outside the folder by now, and OSError."""
        return self.boundary.read(self.file)


@dataclass
class SolutionFolder:
    """Contents of a solution folder. File names in scripts are relative to the folder.

    configuration: parameters by service, spelled as in the file's name; assets: by URL path; hooks: paths of GET routes
    to run once at the end of set-up, from older project files; joins_modules: whether routes see the modules' locals;
    errors: sentences about files that are left out.
    """

    endpoints: list[EndpointScript] = field(default_factory=list)
    events: list[EventScript] = field(default_factory=list)
    modules: dict[str, ScriptSource] = field(default_factory=dict)
    configuration: dict[str, dict[str, Any]] = field(default_factory=dict)
    assets: dict[str, Asset] = field(default_factory=dict)
    cors: Cors = field(default_factory=Cors)
    schema: dict[str, Any] = field(default_factory=dict)
    roles: list[RoleEntry] = field(default_factory=list)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    init_scripts: list[ScriptSource] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    joins_modules: bool = False
    errors: list[str] = field(default_factory=list)

    def add_endpoints(self, file: str, text: str) -> None:
        """Add the routes of a file, and warnings of its misspelt headers."""
        misspelt = list(scripts.misspelt_headers(file, text))
        self.warnings += misspelt
        with self.keeping_errors():
            found = scripts.endpoints(file, text)
            self.endpoints += found
            if text.strip() and not found and not misspelt:
                self.warnings.append(f"{file}: has no line --#ENDPOINT, so that no request runs it")

    def add_events(self, file: str, text: str, named: tuple[str, str | None] | None) -> None:
        """Add the event handlers of a file, and warnings of its misspelt headers. named: see `scripts.events`."""
        self.warnings += scripts.misspelt_headers(file, text)
        with self.keeping_errors():
            self.events += scripts.events(file, text, named)

    @contextmanager
    def keeping_errors(self) -> Iterator[None]:
        """Add a SettingsError to `errors`, so that a reader sees those of all files at once."""
        try:
            yield
        except SettingsError as error:
            self.errors.append(str(error))

    def scripts(self) -> list[ScriptSource]:
        """Return the scripts of its routes, event handlers and modules, and those of its set-up."""
        handlers = [*(each.script for each in self.endpoints), *(each.script for each in self.events)]
        return [*handlers, *self.modules.values(), *self.init_scripts]


def read(*paths: str | Path) -> SolutionFolder:
    """Read the folders of a solution and return their contents merged. Raises SettingsError as `read_partly` does."""
    whole = read_partly(*paths)
    if whole.errors:
        raise SettingsError(listed(whole.errors), whole.errors)
    return whole


def read_partly(*paths: str | Path) -> SolutionFolder:
    """Read the folders of a solution and return their contents merged, without the files that are wrong.

    Only one of the folders may have a certain script, module or asset; a service's parameters and cors come from the
    last folder that sets them. `notebooks/…` is found from any working directory. The result's `errors` name folder,
    file and line of what is wrong. Raises SettingsError if there is no such folder.
    """
    whole = SolutionFolder()
    for path in paths:
        found = _read(resolve(Path(path), Path()))
        try:
            _add(whole, found)
        except SettingsError as error:
            whole.errors.append(f"{path}: {error}")
    return whole


def _add(whole: SolutionFolder, found: SolutionFolder) -> None:
    whole.endpoints += found.endpoints
    whole.events += found.events
    _unique(whole.events)
    for name, script in found.modules.items():
        _add_module(whole.modules, name, script)
    for service, parameters in found.configuration.items():
        whole.configuration.setdefault(service, {}).update(parameters)
    for url, asset in found.assets.items():
        if url in whole.assets:
            raise SettingsError(f"{asset.file}: {url} is {whole.assets[url].file} already")
        whole.assets[url] = asset
    if found.cors != Cors():
        whole.cors = found.cors
    whole.schema = merged(whole.schema, found.schema)
    whole.roles += found.roles
    whole.resources.update(found.resources)
    whole.init_scripts += found.init_scripts
    whole.hooks += found.hooks
    whole.warnings += found.warnings
    whole.errors += found.errors
    whole.joins_modules |= found.joins_modules


def _read(root: Path) -> SolutionFolder:
    if not root.is_dir():
        raise SettingsError(f"{root}: no such folder")
    found = SolutionFolder()
    try:
        boundary = Boundary(root)
        project = projects.find(boundary, found.warnings)
        if isinstance(project, Project):
            found.warnings += strays(root, project)
            _read_sections(boundary, project, found)
        else:
            _read_files(boundary, project, found)
        with found.keeping_errors():
            found.roles = specs.roles(boundary)
            found.resources = specs.resources(boundary, found.warnings)
        with found.keeping_errors():
            _unique(found.events)
    except SettingsError as error:
        found.errors.append(str(error))
    found.errors[:] = [f"{root}: {each}" for each in found.errors]
    return found


def _read_sections(root: Boundary, project: Project, found: SolutionFolder) -> None:
    if project.endpoints:
        for file in _scripts(root, project.endpoints):
            found.add_endpoints(root.name(file), _text(root, file))
        found.cors = projects.cors(root, project.endpoints.cors)
        with found.keeping_errors():
            found.schema = _schema(root, root.folder / project.endpoints.location)
    if project.modules:
        base = root.folder / project.modules.location
        for file in _scripts(root, project.modules):
            _add_module(
                found.modules, ".".join(file.relative_to(base).with_suffix("").parts), _script(root, file)
            )
    if project.services:
        base = root.folder / project.services.location
        for file in _scripts(root, project.services):
            text = _text(root, file)
            if file.suffix != ".lua" and not scripts.EVENT.search(text):
                found.warnings.append(f"{root.name(file)}: is neither Lua nor YAML, ignored")
            else:
                found.add_events(root.name(file), text, service_and_event(file.relative_to(base)))
        found.configuration = _configuration(root, base)
    if project.assets:
        base = root.folder / project.assets.location
        found.assets = _assets(root, base, _select(root, project.assets), project.assets.default_page)
    if project.init_script:
        found.init_scripts.append(_script(root, root.resolve("init_script", project.init_script)))


def _read_files(root: Boundary, project: Solutionfile, found: SolutionFolder) -> None:
    """Read the files listed in an older project file; the key of a module is its name."""
    found.joins_modules = True
    if project.routes:
        found.add_endpoints(project.routes, _text(root, root.resolve("routes", project.routes)))
    for name, file in project.modules.items():
        found.modules[name] = _script(root, root.resolve(f"modules.{name}", file))
    for service, handlers in project.services.items():
        for event, file in handlers.items():
            script = _script(root, root.resolve(f"services.{service}.{event}", file))
            found.events.append(EventScript(service, event, script))
    if project.assets:
        base = root.resolve("assets", project.assets)
        _check_links(root, base)
        files = sorted(file for file in base.rglob("*") if file.is_file() and not file.name.startswith("."))
        found.assets = _assets(root, base, files, project.default_page)
    found.cors = project.cors
    if project.hook:
        found.hooks.append("/" + project.hook.lstrip("/"))


def _scripts(root: Boundary, section: Section) -> list[Path]:
    """Return the selected files that can be scripts: a pattern such as `**/*.*` also matches YAML, which never is."""
    return [file for file in _select(root, section) if file.suffix not in YAML]


def _select(root: Boundary, section: Section) -> list[Path]:
    base = root.resolve("location", section.location)
    if base.is_file():
        return [base]
    for pattern in (*section.include, *section.exclude):
        if ".." in PurePath(pattern).parts:
            raise SettingsError(
                f"{section.location}: include, exclude: {pattern!r} leaves the folder, expected no '..'"
            )
    try:
        dropped = set(_matching(base, section.exclude))
        _check_links(root, base, dropped)
        chosen = {file for file in _matching(base, section.include) if file.is_file()}
    except (ValueError, NotImplementedError) as error:
        raise SettingsError(f"{section.location}: include, exclude: {error}") from None
    kept = sorted(file for file in chosen if dropped.isdisjoint((file, *file.parents)))
    return [root.check(file) for file in kept]


def _check_links(root: Boundary, base: Path, dropped: Collection[Path] = ()) -> None:
    """Raise SettingsError for a linked folder below `base` that resolves outside, even if no file in it matches."""
    for path in base.rglob("*"):
        if path.is_symlink() and path.is_dir() and not any(each in dropped for each in (path, *path.parents)):
            root.check(path)


def _matching(base: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """Return the files and folders below `base` that match a pattern; one without a slash matches at any depth."""
    for pattern in patterns:
        yield from base.glob(pattern if "/" in pattern else f"**/{pattern}")


def service_and_event(file: Path) -> tuple[str, str | None] | None:
    """Return the service and the event in the name of a service file; None for a missing event.

    The name is `<service>/<event>.lua` or `<service>_<event>.lua`, split at the first underscore; a file may repeat the
    name of its folder.
    """
    service, underscore, event = file.stem.partition("_")
    folder = file.parent.name
    if folder and not (underscore and service == folder):
        return folder, file.stem
    return service, event or None


def _configuration(root: Boundary, base: Path) -> dict[str, dict[str, Any]]:
    """Return the parameters of services by service, from `<service>.yaml` below the services folder."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(file for suffix in ("yaml", "yml") for file in base.glob(f"**/*.{suffix}")):
        values, _ = read_yaml(root.check(file))
        if not isinstance(values, dict):
            raise SettingsError(f"{root.name(file)}: expected parameters, not {type(values).__name__}")
        found.setdefault(file.stem, {}).update(values)
    return found


def _schema(root: Boundary, base: Path) -> dict[str, Any]:
    """Return the contents of schema.yml or schema.yaml beside the endpoints, empty without one."""
    for name in schema_file.NAMES:
        if (file := base / name).is_file():
            values, _ = read_yaml(root.check(file))
            return schema_file.checked(root.name(file), values)
    return {}


def _assets(root: Boundary, base: Path, files: Iterable[Path], default_page: str) -> dict[str, Asset]:
    """Return the assets by URL path. `/` is the default page."""
    found = {"/" + file.relative_to(base).as_posix(): Asset(root.check(file), root) for file in files}
    page = found.get("/" + default_page.lstrip("/"))
    return {**found, "/": page} if page else found


def _add_module(modules: dict[str, ScriptSource], name: str, script: ScriptSource) -> None:
    if name in modules:
        raise SettingsError(f"{script.file}: module {name!r} is in {modules[name].file} too")
    modules[name] = script


def _unique(events: Iterable[EventScript]) -> None:
    seen: dict[tuple[str, str], EventScript] = {}
    for each in events:
        first = seen.setdefault((each.service.lower(), each.event), each)
        if first is not each:
            raise SettingsError(
                f"{each.script.where}: {each.service} {each.event} is handled in {first.script.where} too"
            )


def _text(root: Boundary, file: Path) -> str:
    try:
        return root.read(file).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"{root.name(file)}: cannot be read: {reason}") from None


def _script(root: Boundary, file: Path) -> ScriptSource:
    return ScriptSource(root.name(file), 1, _text(root, file))
