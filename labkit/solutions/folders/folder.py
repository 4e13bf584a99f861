"""Reader of a solution folder: scripts, modules, service configuration and assets (no Lua runs here).

Reads endpoints/*.lua, services/*.lua, services/<service>.yaml, modules/*.lua, assets/**, or other locations from the
project file (project.py), all inside the folder (boundary.py), endpoints/schema.yml, roles.yaml and
specs/resources.yaml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from labkit.core.errors import SettingsError, did_you_mean
from labkit.settings import listed
from labkit.settings.notebooks import resolve
from labkit.solutions.folders import project as projects
from labkit.solutions.folders import schema_file, scripts, selection, specs
from labkit.solutions.folders.boundary import LARGEST_ASSET, Boundary, check_depth
from labkit.solutions.folders.configuration import ConfigurationFile
from labkit.solutions.folders.cors import Cors
from labkit.solutions.folders.folder_finding import FolderFinding, warning
from labkit.solutions.folders.project import Project, Section, Solutionfile
from labkit.solutions.folders.schema_file import merged
from labkit.solutions.folders.scripts import EndpointScript, EventScript, ScriptSource
from labkit.solutions.folders.specs import RoleEntry
from labkit.solutions.folders.strays import strays


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
        return self.boundary.read(self.file, LARGEST_ASSET)


@dataclass
class SolutionFolder:
    """Contents of a solution folder. File names in scripts are relative to the folder.

    configured: files with parameters of services, named as the service; assets: by URL path; hooks: paths of GET routes
    to run once at the end of set-up, from older project files; joins_modules: whether routes see the modules' locals;
    findings: what is probably wrong in its files; errors: sentences about files that are left out; unread: names of
    modules that are there and cannot be read.
    """

    endpoints: list[EndpointScript] = field(default_factory=list)
    events: list[EventScript] = field(default_factory=list)
    modules: dict[str, ScriptSource] = field(default_factory=dict)
    configured: list[ConfigurationFile] = field(default_factory=list)
    assets: dict[str, Asset] = field(default_factory=dict)
    cors: Cors = field(default_factory=Cors)
    schema: dict[str, Any] = field(default_factory=dict)
    roles: list[RoleEntry] = field(default_factory=list)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    init_scripts: list[ScriptSource] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    findings: list[FolderFinding] = field(default_factory=list)
    joins_modules: bool = False
    errors: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)

    @property
    def configuration(self) -> dict[str, dict[str, Any]]:
        """Parameters by service; of a parameter in two files the last one."""
        found: dict[str, dict[str, Any]] = {}
        for each in self.configured:
            found.setdefault(each.service, {}).update(each.parameters)
        return found

    @property
    def warnings(self) -> list[str]:
        """Sentences with file and line about what is probably wrong."""
        return [str(each) for each in self.findings if each.level == "warning"]

    def add_endpoints(self, file: str, text: str) -> None:
        """Add the routes of a file, and warnings of its misspelt headers."""
        misspelt = list(scripts.misspelt_headers(file, text))
        self.findings += misspelt
        with self.keeping_errors():
            found = scripts.endpoints(file, text)
            self.endpoints += found
            self.findings += scripts.literal_parts(found)
            if text.strip() and not found and not misspelt:
                self.findings.append(warning(file, "has no line --#ENDPOINT, so that no request runs it"))

    def add_events(self, file: str, text: str, named: tuple[str, str | None] | None) -> None:
        """Add the event handlers of a file, and warnings of its misspelt headers. named: see `scripts.events`."""
        self.findings += scripts.misspelt_headers(file, text)
        with self.keeping_errors():
            self.events += scripts.events(file, text, named)

    def add_module(self, name: str, script: ScriptSource) -> None:
        """Add a module. Raises SettingsError if there is one of this name."""
        if name in self.modules:
            raise SettingsError(f"{script.file}: module {name!r} is in {self.modules[name].file} too")
        self.modules[name] = script

    @contextmanager
    def keeping_errors(self, where: str = "") -> Iterator[None]:
        """Add a SettingsError to `errors`, so that a reader sees those of all files at once. where: the folder."""
        try:
            yield
        except SettingsError as error:
            self.errors += [f"{where}: {each}" if where else each for each in error.parts]

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
        _add(whole, _read(resolve(Path(path), Path())), str(path))
    return whole


def _add(whole: SolutionFolder, found: SolutionFolder, path: str) -> None:
    whole.endpoints += found.endpoints
    whole.events = _unique([*whole.events, *found.events], whole, path)
    for name, script in found.modules.items():
        with whole.keeping_errors(path):
            whole.add_module(name, script)
    whole.configured += found.configured
    for url, asset in found.assets.items():
        if url in whole.assets:
            whole.errors.append(f"{path}: {asset.file}: {url} is {whole.assets[url].file} already")
        whole.assets.setdefault(url, asset)
    if found.cors != Cors():
        whole.cors = found.cors
    whole.schema = merged(whole.schema, found.schema)
    whole.roles += found.roles
    whole.resources.update(found.resources)
    whole.init_scripts += found.init_scripts
    whole.hooks += found.hooks
    whole.findings += found.findings
    whole.errors += found.errors
    whole.unread |= found.unread
    whole.joins_modules |= found.joins_modules


def _unique(events: Iterable[EventScript], found: SolutionFolder, where: str = "") -> list[EventScript]:
    """Return the first handler of each event, and add an error to `found` for each further one."""
    seen: dict[tuple[str, str], EventScript] = {}
    for each in events:
        first = seen.setdefault((each.service.lower(), each.event), each)
        if first is not each:
            with found.keeping_errors(where):
                raise SettingsError(
                    f"{each.script.where}: {each.service} {each.event} is handled in {first.script.where} too"
                )
    return list(seen.values())


def _last(events: Iterable[EventScript], found: SolutionFolder) -> list[EventScript]:
    """Return the last handler of each event in a folder, and add a warning to `found` for each earlier one."""
    last: dict[tuple[str, str], EventScript] = {}
    for each in events:
        earlier = last.pop(key := (each.service.lower(), each.event), None)
        last[key] = each
        if earlier is not None:
            text = f"{each.service} {each.event} is handled in {each.script.where} too, so that this does not run"
            found.findings.append(warning(earlier.script.file, text, earlier.script.line))
    return list(last.values())


def _read(root: Path) -> SolutionFolder:
    if not root.is_dir():
        raise SettingsError(f"{root}: no such folder")
    found = SolutionFolder()
    with found.keeping_errors():
        check_depth(root)
        boundary = Boundary(root)
        project = projects.find(boundary, found.findings)
        if isinstance(project, Project):
            found.findings += strays(boundary, project)
            _read_sections(boundary, project, found)
        else:
            _read_files(boundary, project, found)
        with found.keeping_errors():
            found.roles = specs.roles(boundary, found.findings)
        with found.keeping_errors():
            found.resources = specs.resources(boundary, found.findings)
        found.events = _last(found.events, found)
    found.errors[:] = [f"{root}: {each}" for each in found.errors]
    return found


def _read_sections(root: Boundary, project: Project, found: SolutionFolder) -> None:
    """Read the sections of a project; what is wrong in one does not hide another."""
    texts: dict[str, dict[str, str]] = {"endpoints": {}, "modules": {}, "services": {}}
    if project.endpoints:
        with found.keeping_errors():
            found.cors = projects.cors(root, project.endpoints.cors, found.findings)
        with found.keeping_errors():
            for file, text in _texts(root, project.endpoints, found):
                found.add_endpoints(root.name(file), text)
                texts["endpoints"][root.name(file)] = text
        with found.keeping_errors():
            found.schema = _schema(root, root.folder / project.endpoints.location, found.findings)
    if project.modules:
        with found.keeping_errors():
            base = root.folder / project.modules.location
            for file, text in _texts(root, project.modules, found):
                with found.keeping_errors():
                    found.add_module(_module(base, file), ScriptSource(root.name(file), 1, text))
                    texts["modules"][root.name(file)] = text
    if project.services:
        with found.keeping_errors():
            texts["services"] = _read_services(root, project.services, found)
    found.findings += _misplaced(texts, project, found)
    if project.assets:
        with found.keeping_errors():
            base = root.folder / project.assets.location
            chosen = selection.select(root, project.assets, found.findings)
            found.assets = _assets(root, base, chosen, project.assets.default_page)
    if project.init_script:
        with found.keeping_errors():
            _read_init_script(root, project.init_script, found)


def _read_init_script(root: Boundary, name: str, found: SolutionFolder) -> None:
    """Add the script of the set-up; a missing one is a warning, since templates name one that few folders have."""
    file = root.resolve("init_script", name)
    if file.exists():
        found.init_scripts.append(_script(root, file))
    else:
        found.findings.append(warning(name, "init_script: no such file, so that nothing runs at set-up"))


def _read_services(root: Boundary, section: Section, found: SolutionFolder) -> dict[str, str]:
    """Add the handlers and the configuration of a section, and return the texts of its scripts by file."""
    base = root.folder / section.location
    texts: dict[str, str] = {}
    for file, text in _texts(root, section, found):
        name = root.name(file)
        if file.suffix != ".lua" and not scripts.EVENT.search(text):
            found.findings.append(warning(name, "is neither Lua nor YAML, ignored"))
        else:
            found.add_events(name, text, service_and_event(file.relative_to(base)))
            texts[name] = text
    for file in sorted(each for suffix in ("yaml", "yml") for each in base.glob(f"**/*.{suffix}")):
        with found.keeping_errors():
            values, lines = root.read_yaml(file)
            if not isinstance(values, dict):
                raise SettingsError(f"{root.name(file)}: expected parameters, not {type(values).__name__}")
            found.configured.append(ConfigurationFile(file.stem, root.name(file), values, lines))
    return texts


def _misplaced(
    texts: Mapping[str, Mapping[str, str]], project: Project, found: SolutionFolder
) -> Iterator[FolderFinding]:
    """Yield a warning for each header in the folder of another section, where nothing reads it.

    texts: of the scripts of each section, by file.
    """
    routed = {each.script.file for each in found.endpoints}
    handling = {each.script.file for each in found.events}
    for header, section, readers in (("ENDPOINT", "endpoints", routed), ("EVENT", "services", handling)):
        there: Section | None = getattr(project, section)
        right = f"{there.location}/" if there else f"{section}, which the project file does not have"
        for file, text in ((file, text) for each in texts.values() for file, text in each.items()):
            if file not in readers and file not in texts[section]:
                for line in scripts.header_lines(text, header):
                    yield warning(file, f"--#{header} has no effect here, it belongs in {right}", line)


def _read_files(root: Boundary, project: Solutionfile, found: SolutionFolder) -> None:
    """Read the files listed in an older project file; the key of a module is its name."""
    found.joins_modules = True
    if project.routes:
        with found.keeping_errors():
            if path := _named(root, "routes", project.routes, found):
                found.add_endpoints(project.routes, root.read_text(path))
    for name, file in project.modules.items():
        found.unread.add(name)
        with found.keeping_errors():
            if path := _named(root, f"modules.{name}", file, found):
                found.add_module(name, _script(root, path))
                found.unread.discard(name)
    for service, handlers in project.services.items():
        for event, file in handlers.items():
            with found.keeping_errors():
                if path := _named(root, f"services.{service}.{event}", file, found):
                    found.events.append(EventScript(service, event, _script(root, path)))
    if project.assets:
        with found.keeping_errors():
            base = root.resolve("assets", project.assets)
            if not base.is_dir():
                found.findings.append(warning(projects.OLDER, f"assets: no folder {project.assets!r}"))
            selection.check_links(root, base)
            files = sorted(
                file for file in base.rglob("*") if file.is_file() and not file.name.startswith(".")
            )
            found.assets = _assets(root, base, files, project.default_page)
    found.cors = project.cors
    if project.hook:
        found.hooks.append("/" + project.hook.lstrip("/"))


def _named(root: Boundary, key: str, name: str, found: SolutionFolder) -> Path | None:
    """Return the path of a script that an older project file names; None, with a warning, if it is not there."""
    file = root.resolve(key, name)
    if file.exists():
        return file
    there = [root.name(each) for each in file.parent.glob("*.lua")]
    found.findings.append(warning(projects.OLDER, f"{key}: no file {name!r}{did_you_mean(name, there)}"))
    return None


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


def _schema(root: Boundary, base: Path, findings: list[FolderFinding]) -> dict[str, Any]:
    """Return the contents of schema.yml or schema.yaml beside the endpoints, empty without one.

    Append a warning for each misspelt key.
    """
    for name in schema_file.NAMES:
        if (file := base / name).is_file():
            values, lines = root.read_yaml(file)
            schema = schema_file.checked(root.name(file), values)
            findings += [
                warning(root.name(file), f"{key}: unknown key{similar}", lines.get(key, 0))
                for key, similar in schema_file.misspelt(schema)
            ]
            return schema
    return {}


def _assets(root: Boundary, base: Path, files: Iterable[Path], default_page: str) -> dict[str, Asset]:
    """Return the assets by URL path. `/` is the default page."""
    found = {"/" + file.relative_to(base).as_posix(): Asset(root.check(file), root) for file in files}
    page = found.get("/" + default_page.lstrip("/"))
    return {**found, "/": page} if page else found


def _module(base: Path, file: Path) -> str:
    """Return the name of the module in a file below the folder of the modules."""
    return ".".join(file.relative_to(base).with_suffix("").parts)


def _texts(root: Boundary, section: Section, found: SolutionFolder) -> Iterator[tuple[Path, str]]:
    """Yield the scripts of a section with their texts; one that cannot be read is an error of `found`."""
    for file in selection.scripts(root, section, found.findings):
        try:
            text = root.read_text(file)
        except SettingsError as error:
            found.errors += error.parts
            found.unread.add(_module(root.folder / section.location, file))
        else:
            yield file, text


def _script(root: Boundary, file: Path) -> ScriptSource:
    return ScriptSource(root.name(file), 1, root.read_text(file))
