"""Scaffolds: initial files of a new service, host, conformance part or fault kind, and the lines that register it.

The templates are in `templates/KIND/`, in a folder tree like the checkout's. In their texts and paths `$name`, `$Name`
and `$NAME` are replaced by the new name in lower_case, CamelCase and capitals; the suffix `.txt` is removed from file
names.
"""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from labkit.core.errors import did_you_mean

LOWER_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
CAMEL_CASE = re.compile(r"([A-Z][a-z0-9]+)+")
CONFORMANCE = Path(str(resources.files("labkit"))) / "conformance"
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
REQUIREMENT = re.compile(r"^([A-Z][A-Z0-9]*)-", re.MULTILINE)


class ScaffoldError(Exception):
    """The files of a scaffold cannot be written. The text gives the reason and what was expected."""


@dataclass(frozen=True, slots=True)
class InsertedLine:
    """A line that registers the new thing, for a file of the checkout.

    above: the new line is inserted above the last line that begins with this text; taken: a text in the file that shows
    that the name is in use.
    """

    file: str
    line: str
    above: str
    taken: str = ""

    def apply(self, text: str, names: Mapping[str, str]) -> str:
        """Return the file's text with the line inserted.

        Raises ScaffoldError if the name is in use, or no line begins with `above`.
        """
        line, taken = (Template(each).substitute(names) for each in (self.line, self.taken))
        lines = text.splitlines()
        if line in lines or (taken and taken in text):
            raise ScaffoldError(f"{self.file} has {taken.strip() or line!r} already")
        places = [number for number, each in enumerate(lines) if each.startswith(self.above)]
        if not places:
            raise ScaffoldError(f"{self.file}: expected a line that begins with {self.above!r}")
        lines.insert(places[-1], line)
        return "\n".join(lines) + "\n"


def _lower_case(name: str) -> dict[str, str]:
    if not LOWER_CASE.fullmatch(name) or keyword.iskeyword(name):
        raise ScaffoldError(f"{name!r}: expected a name in lower_case, such as smart_meter")
    camel = "".join(word.capitalize() for word in name.split("_"))
    return {
        "name": name,
        "Name": camel,
        "NAME": name.replace("_", "").upper(),
        "words": name.replace("_", " "),
        "host": name.replace("_", "-"),
    }


def _camel_case(name: str) -> dict[str, str]:
    if not CAMEL_CASE.fullmatch(name):
        raise ScaffoldError(f"{name!r}: expected a name in CamelCase, such as SmartMeter")
    return {**_lower_case(re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()), "Name": name}


def _area_and_name(name: str) -> dict[str, str]:
    area, slash, part = name.partition("/")
    if not slash:
        raise ScaffoldError(f"{name!r}: expected AREA/NAME, such as device/firmware")
    if similar := did_you_mean(area, areas()):
        raise ScaffoldError(f"no area {area!r}, there are: {', '.join(areas())}{similar}")
    return {**_lower_case(part), "area": _lower_case(area)["name"], "AREA": _prefix(area)}


def areas() -> list[str]:
    """Return the existing areas of the documents."""
    return sorted({file.parents[1].name for file in CONFORMANCE.glob("*/*/requirements.toml")})


def _prefix(area: str) -> str:
    """Return the prefix of an area's requirement ids: `DEV` for `device`; for a new area, its name in capitals."""
    for file in sorted(CONFORMANCE.glob(f"{area}/*/requirements.toml")):
        if found := REQUIREMENT.search(file.read_text()):
            return found[1]
    return _lower_case(area)["NAME"]


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A kind of scaffold.

    names: converts the given name to the variables of the templates, or raises ScaffoldError; registrations: lines for
    existing files; next_step: template of the instruction for the user.
    """

    names: Callable[[str], dict[str, str]]
    registrations: tuple[InsertedLine, ...]
    next_step: str


SCAFFOLDS: Mapping[str, Scaffold] = {
    "service": Scaffold(
        _camel_case,
        (
            InsertedLine(
                "labkit/services/registry.py",
                "from labkit.services.$name.service import $Name",
                "from labkit",
            ),
            InsertedLine("labkit/services/registry.py", "    $Name,", above=")"),
        ),
        "make lint; make test TESTS=tests/services; .venv/bin/labkit report --only $NAME --fail-on warned",
    ),
    "host": Scaffold(
        _lower_case,
        (
            InsertedLine(
                "labkit/providers/registry.py",
                "from labkit.providers.$name.site import $Name",
                above="from labkit",
            ),
            InsertedLine("labkit/providers/registry.py", "    $Name,", above=")"),
        ),
        "make lint; make test TESTS=tests/providers; in a lab it answers "
        'lab.browser().get("https://$host.lab.localhost/note")',
    ),
    "part": Scaffold(
        _area_and_name,
        (),
        "name the statements of the documents in requirements.toml; "
        ".venv/bin/labkit report --only $AREA-$NAME --fail-on warned; make test",
    ),
    "fault": Scaffold(
        _lower_case,
        (
            InsertedLine(
                "labkit/fleet/fault_kinds.py",
                "async def _$name(device: FleetDevice, seconds: float) -> None:\n    await device.sleep(seconds)\n\n",
                above="@dataclass",
            ),
            InsertedLine(
                "labkit/fleet/fault_kinds.py",
                '    "$words": FaultKind("the device pauses for `seconds` of lab time", _$name, seconds=10.0),',
                above="}",
                taken='    "$words": ',
            ),
        ),
        "say in labkit/fleet/fault_kinds.py what it does; make test TESTS=tests/fleet",
    ),
}


def next_step(kind: str, name: str) -> str:
    """Return what to do after a scaffold was written."""
    scaffold = SCAFFOLDS[kind]
    return Template(scaffold.next_step).substitute(scaffold.names(name))


def write(checkout: Path, kind: str, name: str) -> list[Path]:
    """Write all files of a scaffold, and register it. Returns the paths of new, then of changed files in the checkout.

    Raises ScaffoldError, and writes nothing, if a name is invalid or taken, or the folder is no checkout.
    """
    scaffold = SCAFFOLDS[kind]
    names = scaffold.names(name)
    if not (checkout / "pyproject.toml").is_file():
        raise ScaffoldError(f"{checkout}: expected a checkout of labkit, with its pyproject.toml")
    files = _rendered(kind, names)
    for path in tuple(files):
        if (checkout / path).exists():
            if path.name != "__init__.py":
                raise ScaffoldError(f"{path} exists already")
            del files[path]  # belongs to an existing area
    _expect_new_classes(checkout, files.values())
    texts: dict[Path, str] = {}
    for each in scaffold.registrations:
        path = Path(each.file)
        texts[path] = each.apply(texts.get(path) or (checkout / path).read_text(), names)
    for path, text in {**files, **texts}.items():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text(text)
    _format(checkout, [*files, *texts])
    return [*files, *texts]


def _expect_new_classes(checkout: Path, texts: Iterable[str]) -> None:
    """Raise ScaffoldError if a class of these texts has the name of another one, which `make lint` forbids."""
    new = {name for text in texts for name in CLASS.findall(text)}
    for file in sorted((checkout / "labkit").rglob("*.py")) if new else ():
        if taken := new.intersection(CLASS.findall(file.read_text())):
            raise ScaffoldError(
                f"{file.relative_to(checkout)} has a class {min(taken)} already; expected another name"
            )


def _format(checkout: Path, paths: Iterable[Path]) -> None:
    """Sort imports and break lines with ruff, since both depend on the new name."""
    code = [str(path) for path in paths if path.suffix == ".py"]
    for command in (["check", "-q", "--fix", "--select", "I"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *code], cwd=checkout, check=True)


def _rendered(kind: str, names: Mapping[str, str]) -> dict[Path, str]:
    """Return the rendered templates of a kind, by path in the checkout."""
    files: dict[Path, str] = {}

    def render(folder: Traversable, path: Path) -> None:
        for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
            target = path / Template(each.name.removesuffix(".txt")).substitute(names)
            if each.is_dir():
                render(each, target)
            else:
                files[target] = Template(each.read_text()).substitute(names)

    render(resources.files("labkit.dev") / "templates" / kind, Path())
    return files
