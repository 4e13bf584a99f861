"""Parser of the headers in Lua files that define the route or the event of a script: `--#ENDPOINT`, `--#EVENT`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from labkit.core.errors import SettingsError, did_you_mean

WEBSOCKET = "WEBSOCKET"
METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", WEBSOCKET})
SECURITY = frozenset({"none", "basic", "bearer", "apiKey"})
JSON = "application/json"

ENDPOINT = re.compile(
    r"--#ENDPOINT\b(?:[ \t]+(?P<method>\S+))?(?:[ \t]+(?P<path>\S+))?(?:[ \t]+(?P<content_type>.*))?"
)
EVENT = re.compile(r"--#EVENT\b[ \t]*(?P<words>.*)")
LARGEST_RATE = 1_000_000_000  # requests a minute
KNOWN = ("ENDPOINT", "EVENT", "SECURITY", "AUTH", "RATELIMIT", "TAGS", "SUMMARY", "DESCRIPTION")
WORD = re.compile(r"\s*--#([A-Za-z]+)\b")
TAG = re.compile(r"\s*--#(?P<name>SECURITY|AUTH|RATELIMIT|TAGS|SUMMARY|DESCRIPTION)\b[ \t]*(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class ScriptSource:
    """Lua script. file, line: where it begins (line 1 is the first); source: its text."""

    file: str
    line: int
    source: str

    @property
    def where(self) -> str:
        """File and line, for errors."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Tags:
    """Values of the tag lines below an endpoint's header.

    security: kinds of credentials, one of which a request needs; rate_limit: requests a minute of a client, 0 for no
    limit. None: as the solution's settings say.
    """

    security: tuple[str, ...] | None = None
    rate_limit: int | None = None
    tags: tuple[str, ...] = ()
    summary: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class EndpointScript:
    """Script of a route, with the values of its header."""

    method: str
    path: str
    content_type: str
    script: ScriptSource
    tags: Tags = field(default_factory=Tags)


@dataclass(frozen=True, slots=True)
class EventScript:
    """Script of an event handler, with the service and the event that it handles."""

    service: str
    event: str
    script: ScriptSource


def endpoints(file: str, text: str) -> list[EndpointScript]:
    """Return the routes of an endpoint file. Text before the first header is ignored.

    `--#ENDPOINT METHOD /path content/type`; the content type defaults to application/json.
    Raises SettingsError naming file and line.
    """
    found = []
    for header, script in _split(ENDPOINT, file, text):
        method = (header["method"] or "").upper()
        path = header["path"]
        if method not in METHODS:
            raise SettingsError(f"{script.where}: expected a method after --#ENDPOINT, not {method!r}")
        if not path:
            raise SettingsError(f"{script.where}: expected a path after --#ENDPOINT {method}")
        content_type = (header["content_type"] or "").strip() or JSON
        found.append(EndpointScript(method, path, content_type, script, _tags(script)))
    return found


def events(file: str, text: str, named: tuple[str, str | None] | None) -> list[EventScript]:
    """Return the event handlers of a service file.

    A file may have several headers `--#EVENT service event`; with a single word, that is the event, and the file's name
    is the service. A file without headers is one handler, for the service and event in its name. named: these two.
    Raises SettingsError naming file and line.
    """
    parts = _split(EVENT, file, text)
    if not parts:
        if named is None or named[1] is None:
            raise SettingsError(f"{file}: names no event: expected --#EVENT or <service>_<event>.lua")
        return [EventScript(named[0], named[1], ScriptSource(file, 1, text))]
    found = []
    for header, script in parts:
        words = header["words"].split()
        if len(words) == 1:
            words = [script.file.rpartition("/")[2].rpartition(".")[0], *words]
        if len(words) != 2:
            raise SettingsError(f"{script.where}: expected --#EVENT <service> <event>")
        found.append(EventScript(words[0], words[1], script))
    return found


def misspelt_headers(file: str, text: str) -> Iterator[str]:
    """Yield a sentence for each line such as `--#ENDPOIT` whose word is similar to a header or a tag."""
    for number, line in enumerate(text.split("\n"), 1):
        found = WORD.match(line)
        if found is not None and found[1] not in KNOWN:
            upper = found[1].upper()
            if similar := (f"; did you mean {upper}?" if upper in KNOWN else did_you_mean(upper, KNOWN)):
                yield f"{file}:{number}: --#{found[1]} is no header and has no effect{similar}"


def _split(mark: re.Pattern[str], file: str, text: str) -> list[tuple[re.Match[str], ScriptSource]]:
    """Return the headers with their scripts, which extend from the header's line to the next header."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [(number, match) for number, line in enumerate(lines) if (match := mark.search(line))]
    bounds = [*(number for number, _ in starts), len(lines)]
    return [
        (match, ScriptSource(file, number + 1, "\n".join(lines[number:end])))
        for (number, match), end in zip(starts, bounds[1:], strict=True)
    ]


def _tags(script: ScriptSource) -> Tags:
    values: dict[str, str] = {}
    for line in script.source.split("\n")[1:]:
        match = TAG.match(line)
        if match is None:
            break
        name = "SECURITY" if match["name"] == "AUTH" else match["name"]  # the older name
        values[name] = match["value"].strip()
    return Tags(
        _security(script, values.get("SECURITY")),
        _rate(script, values.get("RATELIMIT")),
        tuple(values.get("TAGS", "").split()),
        values.get("SUMMARY", ""),
        values.get("DESCRIPTION", ""),
    )


def _security(script: ScriptSource, text: str | None) -> tuple[str, ...] | None:
    """Return the kinds of security in a tag's text. Raises SettingsError."""
    if text is None:
        return None
    kinds = tuple(text.split())
    if not kinds or not SECURITY.issuperset(kinds):
        raise SettingsError(f"{script.where}: --#SECURITY: expected one of {', '.join(sorted(SECURITY))}")
    return kinds


def _rate(script: ScriptSource, text: str | None) -> int | None:
    """Return the number of requests in a tag's text. Raises SettingsError."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and int(text) <= LARGEST_RATE):
        raise SettingsError(
            f"{script.where}: --#RATELIMIT: expected a number of requests a minute, not {text[:20]!r}"
        )
    return int(text)
