"""Files and folders of a solution folder that nothing reads, probably since they are misnamed."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path, PurePath

from labkit.core.errors import SettingsError
from labkit.solutions.folders.boundary import Boundary
from labkit.solutions.folders.folder_finding import FolderFinding, warning
from labkit.solutions.folders.project import DEFAULT, KEYS, OLDER, SECTIONS, Project, Section

# Names of the folder of each section; without a project file the first that exists is read.
FOLDERS = {
    "assets": ("assets", "files"),
    "endpoints": ("endpoints", "routes"),
    "modules": ("modules",),
    "services": ("services", "eventhandlers", "event_handler"),
}
ENDINGS = {"endpoints": (".lua",), "modules": (".lua",), "services": (".lua", ".yaml", ".yml")}
NOT_READ = {"specs", "spec", "test", "tests", "doc", "docs", "node_modules", "venv"}  # on purpose
FILES = (DEFAULT, OLDER, "cors.yaml")
MISPLACED = {
    "role.yaml": "roles.yaml",
    "roles.yml": "roles.yaml",
    "webservice.yaml": "services/webservice.yaml",
    "resources.yaml": "specs/resources.yaml",
    "spec/resources.yaml": "specs/resources.yaml",
    "services/cors.yaml": "cors.yaml",
    "Solutionfile.yaml": OLDER,
}
SIMILAR_FOLDER = 0.7  # higher than the usual 0.6, with which product is similar to routes
SIMILAR_FILE = 0.85  # higher than for folders: many files are there for other programs
READ = "scripts are in endpoints/, modules/ and services/"


def strays(boundary: Boundary, project: Project) -> Iterator[FolderFinding]:
    """Yield a warning for each file or folder of a solution folder that is probably misnamed.

    project: of the folder. Hidden files, links, and folders for tests and documents are left out.
    """
    root = boundary.folder
    sections: dict[str, Section | None] = {name: getattr(project, name) for name in SECTIONS}
    named = [each.location for each in sections.values() if each is not None]
    cors = None if project.endpoints is None else project.endpoints.cors
    named += [each for each in (project.init_script, cors) if isinstance(each, str)]
    firsts = [PurePath(each).parts[:1] for each in named]
    if () in firsts:  # a section is the whole folder
        return
    read = [root / first for [first] in firsts]
    for entry in sorted(root.iterdir()):
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if not any(each.exists() and each.samefile(entry) for each in read):
            yield from _of_folder(entry, sections) if entry.is_dir() else _of_file(entry, boundary)
    for wrong, right in MISPLACED.items():
        if (root / wrong).is_file():
            yield warning(wrong, f"nothing reads it; did you mean {right}?")
    for name, endings in ENDINGS.items():
        section = sections[name]
        if section is not None and "include" not in section.model_fields_set:
            yield from _of_endings(root, root / section.location, endings)


def _of_folder(folder: Path, sections: dict[str, Section | None]) -> Iterator[FolderFinding]:
    """Yield a warning about a folder that no section names."""
    if folder.name.lower() in NOT_READ:
        return
    known = {each: name for name, others in FOLDERS.items() for each in others}
    similar = get_close_matches(folder.name.lower(), known, n=1, cutoff=SIMILAR_FOLDER)
    if folder.name in known:
        name = known[folder.name]
        section = sections[name]
        if section is None:
            yield warning(f"{folder.name}/", f"nothing reads it, since the project file has no {name}")
        else:
            yield warning(f"{folder.name}/", f"nothing reads it, since the {name} are in {section.location}/")
    elif similar:
        yield warning(f"{folder.name}/", f"nothing reads it; did you mean {similar[0]}/?")
    elif next(folder.rglob("*.lua"), None) is not None:
        yield warning(f"{folder.name}/", f"nothing reads its Lua files: {READ}")


def _of_file(file: Path, boundary: Boundary) -> Iterator[FolderFinding]:
    """Yield a warning about a file beside the folders of the sections."""
    if file.suffix == ".lua":
        yield warning(file.name, f"nothing reads it: {READ}")
    elif file.name == "cors.yaml":
        yield warning(
            file.name, "nothing reads it, since the project file's endpoints have no cors: cors.yaml"
        )
    elif file.name not in FILES and not _may_be_project(file, boundary):
        for similar in get_close_matches(file.name, FILES, n=1, cutoff=SIMILAR_FILE):
            yield warning(file.name, f"nothing reads it; did you mean {similar}?")


def _may_be_project(file: Path, boundary: Boundary) -> bool:
    """Return whether a file has the keys of a project file, whose name is free, or is reported as broken."""
    if file.suffix not in (".yaml", ".yml"):
        return False
    try:
        values, _ = boundary.read_yaml(file)
    except SettingsError:
        return True
    return isinstance(values, dict) and values.keys() >= KEYS


def _of_endings(root: Path, folder: Path, endings: tuple[str, ...]) -> Iterator[FolderFinding]:
    """Yield a warning for each file of a section's folder with a misspelt ending, such as `.luo`."""
    for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
        ending = file.suffix
        if ending in endings or file.name.startswith(".") or ending.endswith("~") or not file.is_file():
            continue
        if similar := get_close_matches(ending.lower(), endings, n=1):
            name = file.relative_to(root).as_posix()
            yield warning(name, f"nothing reads it; did you mean {file.with_suffix(similar[0]).name}?")
