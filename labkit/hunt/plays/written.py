"""Plays as files of Python: pytest functions with the seed, the faults and the values as readable data."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.core.errors import LabError
from labkit.core.files import write_whole
from labkit.hunt.literals import is_literal
from labkit.hunt.plays.breach import Breach
from labkit.hunt.plays.future import Played
from labkit.hunt.plays.loading import SEPARATOR, file_of, module_place, name_in_file
from labkit.hunt.story import Story

LONGEST_LINE = 110  # characters of a line with a fault
VARIABLE = "PLAY"  # of a file, which holds the play


@dataclass(frozen=True)
class WrittenPlay:
    """A play as data.

    story: `file::name`, with the file relative to that of the play, `module:name` of an installed module, or the name
    alone; breaks: what it broke when it
    was written; reason: a sentence; seed: of the lab; parameters: of the story; faults: pairs of kind and settings;
    values: drawn by the story, pairs of label and value; hits: how often each fault did hit, empty if unknown; limits:
    of the story's fleets, as of `play`; journal: digest of its journal, by which an exact replay is known.
    """

    story: str
    breaks: str
    reason: str
    seed: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    values: tuple[tuple[str | None, Any], ...] = ()
    hits: tuple[int, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    journal: str = ""

    def text(self) -> str:
        """Return the file's text."""
        name = re.sub(r"\W+", "_", self.story.rpartition(SEPARATOR)[2].rpartition(":")[2])
        title = " ".join(self.breaks.split()).replace("\\", "/").replace('"', "'")
        title = title.encode(errors="replace").decode()
        return (
            f'"""A play that broke: {title}. It was found and cut down by a hunt."""\n\n'
            "from labkit.hunt import replay\n\n"
            f"{VARIABLE} = {_mapping(vars(self))}\n\n\n"
            f"def test_{name}_{self.seed}() -> None:\n"
            f"    replay({VARIABLE}, beside=__file__)\n"
        )

    def cell(self) -> str:
        """Return a call of `play` that repeats the play where the story is known by its name."""
        name = self.story.rpartition(SEPARATOR)[2].rpartition(":")[2]
        lines = [f"play(\n    {name},\n    seed={self.seed},\n"]
        given = {key: getattr(self, key) for key in ("parameters", "faults", "values", "limits")}
        lines += [f"    {key}={_indented(each)},\n" for key, each in given.items() if each or key == "values"]
        return "".join([*lines, ")"])


def written_play(
    story: Story, place: str, played: Played, breach: Breach, parameters: Mapping[str, object]
) -> WrittenPlay:
    """Return a play as data.

    story, played, breach: the play and what it broke; place: where the story is, as `WrittenPlay.story`; parameters:
    those that differ from their defaults. Raises LabError, naming them, for values that are no Python literals.
    """
    data: list[tuple[str, object]] = [("a drawn value", each) for each in played.drawn]
    data += [("a fault", (each.kind, dict(each.settings))) for each in played.faults]
    data += [("a parameter", each) for each in parameters.items()]
    for name, each in data:
        if not is_literal(each):
            raise LabError(
                f"{story.name}: {name} is no Python literal, so the play cannot be written as data: {each!r:.200}"
            )
    return WrittenPlay(
        place,
        breach.title,
        breach.reason,
        played.seed,
        dict(parameters),
        tuple((each.kind, dict(each.settings)) for each in played.faults),
        played.drawn,
        played.hits,
        played.limits.data,
        digest(played),
    )


def write(story: Story, written: WrittenPlay, folder: Path) -> Path:
    """Write a play to a new file of a folder, which is made if needed, and return the file.

    Raises LabError for a story that does not stand in a file, outside of functions, and if the file cannot be written.
    """
    source, told = file_of(story), name_in_file(story)
    if source is None:
        raise LabError(f"{story.name} is no story of a file, so no file can repeat it; use its cell instead")
    if told is None:
        raise LabError(
            f"{story.name} is made within a function, so no file can repeat it; use its cell instead"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = Path(os.path.relpath(source, folder.resolve())).as_posix()
        named = module_place(story) or f"{place}{SEPARATOR}{told}"
        whole = WrittenPlay(**{**vars(written), "story": named})
        text = whole.text()
        name = re.sub(r"\W+", "_", story.name)
        file = folder / f"test_{name}_{zlib.crc32(text.encode()):08x}.py"
        write_whole(file, text)
    except OSError as error:
        raise LabError(f"{error.filename or folder}: {error.strerror}") from error
    return file


def read(file: Path) -> WrittenPlay:
    """Return the play of a file, which is read and not run. Raises LabError if there is none in it."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise LabError(f"{file}: expected a file that a hunt has written: {error}") from None
    for each in tree.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == VARIABLE:
                try:
                    return play_of(ast.literal_eval(value))
                except (ValueError, TypeError) as error:
                    raise LabError(f"{file}: {VARIABLE}: expected Python literals alone: {error}") from None
                except LabError as error:
                    raise LabError(f"{file}: {error}") from None
    raise LabError(f"{file}: expected a file that a hunt has written, with {VARIABLE} = …")


def digest(played: Played) -> str:
    """Return the digest of a play's journal."""
    return hashlib.sha256(played.journal.encode("utf-8", "surrogatepass")).hexdigest()


def play_of(data: Mapping[str, Any]) -> WrittenPlay:
    """Return the play of data as a file has it. Raises LabError for other data."""
    match data:
        case {"story": str(), "breaks": str(), "reason": str(), "seed": int(), **rest} if not (
            set(rest) - {"parameters", "faults", "values", "hits", "limits", "journal"}
        ):
            lists = {name: tuple(data.get(name, ())) for name in ("faults", "values", "hits")}
            if len(lists["hits"]) in (0, len(lists["faults"])):
                return WrittenPlay(**{**data, **lists})
    raise LabError(f"expected a play with story, breaks, reason, seed, faults and values, not {data!r:.100}")


def literal(value: object) -> str:
    """Return a value as a Python literal, with double quotes as far as that is readable."""
    if isinstance(value, str) and value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + _joined(f"{literal(name)}: {literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({_joined(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{_joined(map(literal, value))}]"
    return repr(value)


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _mapping(data: Mapping[str, Any]) -> str:
    lines = []
    for name, value in data.items():
        shown = literal([*value]) if name == "hits" else _indented(value)
        lines.append(f"    {literal(name)}: {shown},\n")
    return "{\n" + "".join(lines) + "}"


def _indented(values: object) -> str:
    """Return pairs as a list with a line for each."""
    if not isinstance(values, tuple):
        return literal(values)
    if not values:
        return "[]"
    return "[\n" + "".join(f"        {_wrapped(each, 8)},\n" for each in values) + "    ]"


def _wrapped(pair: object, indent: int) -> str:
    """Return a pair as a literal; with a line for each setting if it is a fault that is too long for one line."""
    text = literal(pair)
    match pair:
        case (str() as kind, Mapping() as settings) if indent + len(text) >= LONGEST_LINE:
            space = " " * indent
            lines = "".join(
                f"{space}    {literal(name)}: {literal(each)},\n" for name, each in settings.items()
            )
            return f"({literal(kind)}, {{\n{lines}{space}}})"
    return text
