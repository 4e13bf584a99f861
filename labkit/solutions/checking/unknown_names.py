"""Names that a solution's scripts use and that do not exist: fields of the platform's tables, and globals."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice

from labkit.core.errors import did_you_mean
from labkit.solutions.checking.script_review import meant_module
from labkit.solutions.checking.shapes import ANY, SOCKET, Given, shapes
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.folder_finding import FolderFinding, Level, warning
from labkit.solutions.folders.scripts import PLACEHOLDER, ScriptSource
from labkit.solutions.lua.names import ScriptNames, names
from labkit.solutions.lua.syntax import usage

WORD = re.compile("`([^`]+)`")
RESULTS: Given = {"Keystore": {"get": "a table with the field value"}}
RESULT_FIELDS = ("value", "error", "status", "status_code", "type")  # those of an error, too
REQUEST = "request"
UNLESS = ", unless a query has it"  # which a script need not tell from the path
SIMILAR = 0.9  # of an alias to a resource: a script may be for products that the lab does not have
MOST = 20  # findings of a folder
RESPONSE = "response"  # fields that a script sets here are meant for the platform
KEYWORDS = "break else elseif end false function local nil repeat return then true until while".split()
LOADING = frozenset({"load", "loadstring", "setfenv", "getfenv"})  # by which a script may assign any global
# Names of the tables that the platform gives to scripts.
HANDED = frozenset({*shapes()["tables"], "data", "event"})
# Globals of other versions of Lua, whose absence a script may test.
OTHER_LUA = frozenset({"arg", "bit32", "debug", "io", "jit", "module", "package", "utf8"})


def of_names(
    folder: SolutionFolder,
    given: Mapping[ScriptSource, Given],
    services: Collection[str],
    known: Collection[str] = (),
) -> Iterator[FolderFinding]:
    """Yield a warning for each field that a table of the platform does not have, and each global that is always nil.

    given: tables that the platform gives to each script; services: names under which scripts reach services; known:
    further globals. A script may add fields to a table that it passes on, and assign any global where it loads text, so
    that these are no warnings.
    """
    scripts = list(dict.fromkeys(folder.scripts()))
    review = _NameReview(scripts, services, known, shares_locals=folder.joins_modules)
    found = (each for script in scripts for each in review.of_script(script, given.get(script, {})))
    yield from islice(found, MOST)
    if last := next(found, None):
        yield warning(last.file, f"more than {MOST} names are unknown, of which the others are left out")


class _NameReview:
    """Review of the names in all scripts of a folder."""

    def __init__(
        self,
        scripts: Iterable[ScriptSource],
        services: Collection[str],
        known: Collection[str],
        *,
        shares_locals: bool,
    ) -> None:
        read = [names(each) for each in scripts]
        self._services = {each.lower() for each in services}
        self._known = {*shapes()["globals"].split(), "self", *known}.union(
            *(one.assigned for one in read),
            (name for one in read for table, name in one.put if table == "_G"),
        )
        if shares_locals:
            self._known.update(*(usage(each).locals for each in scripts))
        self._is_loading = any("_G" in one.bare or LOADING & one.read.keys() for one in read)
        self._named = {name for each in scripts for name in usage(each).named}

    def of_script(self, script: ScriptSource, given: Given) -> Iterator[FolderFinding]:
        read = names(script)
        if not read.is_whole:
            return
        for (table, name), line in self._unknown_fields(read, given):
            there = did_you_mean(name, given[table]) or f"; there are: {', '.join(given[table])}"
            yield warning(script.file, f"{table} has no field {name!r}{there}", line)
        texts = {**given, **RESULTS}
        for (table, name, literal), line in read.literals.items():
            text = texts.get(table, {}).get(name, "")
            is_own = table in read.assigned or (table, name) in read.put
            if text and not is_own and (end := _never(name, literal[0], literal[1:], text, read)):
                level: Level = "note" if UNLESS in end else "warning"
                yield FolderFinding(script.file, line, level, f"{table}.{name}{end}")
        if not self._is_loading and ANY not in given:
            for text, line in self._nil(read, given):
                yield warning(script.file, text, line)

    def _unknown_fields(self, read: ScriptNames, given: Given) -> Iterator[tuple[tuple[str, str], int]]:
        for key, line in (read.put | read.got).items():
            table, name = key
            if not given.get(table) or name in given[table]:
                continue
            if key in read.checked and not did_you_mean(name, given[table]):
                continue
            if key in read.put:
                is_mistake = table == RESPONSE and key not in read.got and table not in read.bare
            else:
                is_mistake = table not in read.assigned and not (table in read.bare and name in self._named)
            if is_mistake:
                yield key, line

    def _nil(self, read: ScriptNames, given: Given) -> Iterator[tuple[str, int]]:
        """Yield a sentence for each global that is always nil, with the line of its first use."""
        known: list[str] = []
        unknown = (each for each in (read.asked | read.read).items() if not self._is_known(each[0], given))
        for name, line in islice(unknown, MOST + 1):  # finding a similar name takes time
            if name[:1].isupper():  # a service, which may be added later
                if similar := meant_module(name, read):
                    yield f"no script assigns {name!r}, and no service has this name{similar}", line
                continue
            known = known or sorted({*self._known, *given, *read.locals})
            keyword = get_close_matches(name, KEYWORDS, n=1, cutoff=0.8)
            similar = _of_platform(name, given) or did_you_mean(name, keyword or known)
            if name in read.read or (similar and name not in HANDED | OTHER_LUA):
                yield f"no script assigns the global {name!r}, so that it is nil{similar}", line

    def _is_known(self, name: str, given: Given) -> bool:
        return name in self._known or name in given or name.lower() in self._services


def _never(name: str, sign: str, literal: str, text: str, read: ScriptNames) -> str:
    """Return the end of a sentence about a literal that a field is never equal to, or that is no name in it."""
    if sign == "=":
        words = WORD.findall(text)
        is_wrong = text[:1] == "`" or (
            text[:8] == "one of `" and get_close_matches(literal, words, 1, SIMILAR)
        )
        return f" is never {literal!r}: it is {text}" if is_wrong and literal not in words else ""
    if sign == ".":
        is_known = text not in RESULTS["Keystore"].values() or literal in RESULT_FIELDS
        return "" if is_known else f"{{…}} has no field {literal!r}: it is {text}"
    if sign == "(":
        return f"{{…}} is {text}, and never nil" if text in RESULTS["Keystore"].values() else ""
    others = {each[1:] for _, field, each in read.literals if field == name and each[0] == sign} - {literal}
    if literal == "0" and text.startswith("a list"):
        return f"[0] is nil: it is {text}, from 1"
    if text.startswith("a text,"):
        return f" is {text}: it has no field {literal!r}"
    if text.endswith("in lower case") and literal != literal.lower() not in others:
        return f" has names in lower case, so that {literal!r} is nil; did you mean {literal.lower()!r}?"
    there = PLACEHOLDER.findall(text)
    if similar := literal not in there and did_you_mean(literal, {*there} - others):
        return f" has no {literal!r} of the path {text}{similar}"
    if len(there) == 1 and not others and literal not in there and (REQUEST, name) not in read.passed:
        return f" has no {literal!r}{UNLESS}: the path is {text}" if REQUEST not in read.bare else ""
    return ""


def _of_platform(name: str, given: Given) -> str:
    """Return the end of a sentence about a name that other scripts have; empty for any other name."""
    if name not in HANDED:
        return ""
    there = ", ".join(each for each in given if each not in SOCKET)
    return f"; this script has: {there}" if there else "; a script has to pass it on to a module"
