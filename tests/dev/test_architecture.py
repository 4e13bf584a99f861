"""Pictures of the architecture: all folders in their layers, imports that go down, and the traced way of a write."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import labkit
from labkit.dev import architecture
from tests.way_of_a_write import stored

LAYERS = architecture.layers()
FILES = dict(architecture.generated())


def _texts(name: str) -> list[str]:
    """Return the words of a picture, after a check that they stay within it."""
    [drawn] = re.findall(r"<svg.*</svg>", FILES[f"{architecture.FOLDER}/{name}"], re.DOTALL)
    picture = ElementTree.fromstring(drawn)
    width, height = map(float, picture.attrib["viewBox"].split()[2:])
    for each in picture.iter("rect"):
        x, y, wide, high = (float(each.attrib[key]) for key in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + wide <= width
        assert y + high <= height
    return [each.text or "" for each in picture.iter("text")]


def test_each_folder_and_module_is_in_the_picture() -> None:
    package = Path(labkit.__file__).parent
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    assert {name for row in LAYERS for name in row} == folders | modules
    assert set(_texts("layers.svg")) >= folders | modules


def test_the_listed_imports_go_down() -> None:
    level = {name: number for number, row in enumerate(LAYERS) for name in row}
    found = architecture.imports()
    assert [(name, each) for name in found for each in found[name] if level[each] <= level[name]] == []
    assert "control" in found["lab"]
    assert found["core"] == set()
    text = FILES[f"{architecture.FOLDER}/folders.txt"]
    assert re.findall(r"^`(\w+)`$", text, re.MULTILINE) == [name for row in LAYERS for name in row]


def test_the_way_of_a_write_is_the_traced_one() -> None:
    names = re.findall(r'\["(.*)<br>(.*)"\]', stored())
    assert len(names) > 10
    assert _texts("write.svg") == [text for pair in names for text in pair]
    arrows = len(re.findall(r"-->|-\.->", stored()))
    assert FILES[f"{architecture.FOLDER}/write.svg"].count('class="head"') == arrows
