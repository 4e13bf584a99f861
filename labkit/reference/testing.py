"""Reference of the pytest plugin: its fixtures, markers and options, from the plugin that pytest loads."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Self

from labkit.reference.entry import ReferenceEntry, ReferencePage, code, prose

PATH = "reference/testing/pytest"
INTRO = """The pytest plugin comes with labkit: pytest loads it by itself, and it costs nothing where it is not used. A
test that fails shows the journal of its lab, and the seed that repeats it. `pytest --fixtures` and `pytest --markers`
list it too."""
EXAMPLE = """
import pytest


@pytest.mark.lab(config="lab.yaml")
def test_a_device(lab):
    device = lab.product("thermostat").device("t-1").activate()
    device.write(temperature=21.5)
    assert device.read("temperature") == {"temperature": "21.5"}
"""


def pages() -> Iterator[ReferencePage]:
    """Yield the page of the plugin; nothing where pytest is not installed."""
    if find_spec("pytest") is None:
        return
    plugin: ModuleType = next(iter(entry_points(group="pytest11", name="labkit"))).load()
    entries = (*_fixtures(plugin), *_markers(plugin), *_options(plugin))
    yield ReferencePage(PATH, "The pytest plugin", f"{INTRO}\n\n{code('python', EXAMPLE)}", entries)


def _fixtures(plugin: ModuleType) -> Iterator[ReferenceEntry]:
    for name, value in vars(plugin).items():
        marker = getattr(value, "_fixture_function_marker", None)
        if marker is not None:
            lasts = {"function": "a test", "session": "all tests of a process"}[marker.scope]
            doc = prose(inspect.cleandoc(value.__doc__ or ""))
            yield ReferenceEntry(
                "fixture", marker.name or name, f"{doc}\n\nLasts for {lasts}.", (f"fixture {name}",)
            )


def _markers(plugin: ModuleType) -> Iterator[ReferenceEntry]:
    for each in plugin.MARKERS:
        call, _, text = each.partition(": ")
        name = re.match(r"\w+", call)
        assert name is not None
        body = f"{text.capitalize()}.\n\n{code('text', f'@pytest.mark.{call}')}"
        yield ReferenceEntry("marker", f"pytest.mark.{name[0]}", body, (f"marker {name[0]}",))


class _Options:
    """The parser of pytest as far as the plugin uses it, which keeps the options."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, str] = {}

    def getgroup(self, name: str, description: str) -> Self:
        return self

    def addoption(self, name: str, **given: Any) -> None:
        self.found[name] = given

    def addini(self, name: str, help: str, **given: Any) -> None:
        self.settings[name] = help


def _options(plugin: ModuleType) -> Iterator[ReferenceEntry]:
    options = _Options()
    plugin.pytest_addoption(options)
    for name, given in options.found.items():
        value = f" {given['metavar']}" if "metavar" in given else ""
        body = f"{prose(given['help'])}\n\n{code('text', f'pytest {name}{value}')}"
        yield ReferenceEntry("option of pytest", name, body, (name.lstrip("-"),))
    for name, help in options.settings.items():
        shown = code("text", f"[tool.pytest.ini_options]\n{name} = …")
        body = f"{prose(help)}\n\n{shown}"
        yield ReferenceEntry("setting of pytest", name, body)
