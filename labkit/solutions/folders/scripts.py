"""Parser of the headers in Lua files that define the route or the event of a script: `--#ENDPOINT`, `--#EVENT`."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from labkit.core.errors import SettingsError, did_you_mean
from labkit.settings import listed
from labkit.solutions.folders.folder_finding import FolderFinding, warning

WEBSOCKET = "WEBSOCKET"
METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", WEBSOCKET})
SECURITY = frozenset({"none", "basic", "bearer", "apiKey"})
JSON = "application/json"

ENDPOINT = re.compile(
    r"--#ENDPOINT\b(?:[ \t]+(?P<method>\S+))?(?:[ \t]+(?P<path>\S+))?(?:[ \t]+(?P<content_type>.*))?"
)
MEDIA_TYPE = re.compile(r"([a-z]+)/[\w.+*-]+ *(?:;.*)?", re.IGNORECASE | re.ASCII)
MEDIA = ("application", "audio", "font", "image", "message", "model", "multipart", "text", "video")
MEDIA_TYPES = (
    JSON, "text/plain", "text/html", "text/csv", "text/xml", "application/xml", "application/octet-stream",
    "application/x-www-form-urlencoded", "multipart/form-data",
)  # fmt: skip
PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
OTHER_PLACEHOLDER = re.compile(
    r":([A-Za-z_]\w*)|<(?:\w+:)?(\w+)>|\[(\w+)\]|\$?\{+(\w*)\}*", re.ASCII
)  # of other frameworks
EVENT = re.compile(r"--#EVENT\b[ \t]*(?P<words>.*)")
LARGEST_RATE = 1_000_000_000  # requests a minute
KNOWN = ("ENDPOINT", "EVENT", "SECURITY", "AUTH", "RATELIMIT", "TAGS", "SUMMARY", "DESCRIPTION")
WORD = re.compile(r"\s*--#([A-Za-z]+)\b")
PARTED = re.compile("[-. ]|(?<=[a-z])(?=[A-Z])")  # as in device-datapoint and deviceDatapoint
SPACED = re.compile(r"--(?: #|# | # )(ENDPOINT|EVENT)\b")
NO_CODE = re.compile(r"\s*(?:--(?!\[=*\[).*)?$")  # an empty line or a comment of one line
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
    Raises SettingsError with file and line of each wrong header.
    """
    found = []
    wrong: list[str] = []
    for header, script in _split(ENDPOINT, file, text):
        method = (header["method"] or "").upper()
        path = header["path"] or ""
        if method not in METHODS:
            wrong.append(f"{script.where}: expected a method after --#ENDPOINT, not {method!r}")
        elif not path:
            wrong.append(f"{script.where}: expected a path after --#ENDPOINT {method}")
        content_type = (header["content_type"] or "").strip() or JSON
        found.append(EndpointScript(method, path, content_type, script, _tags(script, wrong)))
    _raise(wrong)
    return found


def literal_parts(routes: Iterable[EndpointScript]) -> Iterator[FolderFinding]:
    """Yield a warning for each part of a path or a content type that probably means something else than it says."""
    for route in routes:
        file, line = route.script.file, route.script.line
        for part in route.path.split("/"):
            if PLACEHOLDER.fullmatch(part):
                continue
            if found := OTHER_PLACEHOLDER.fullmatch(part):
                name = next(filter(None, found.groups()), "name")
                yield warning(file, f"{part[:60]!r} is no placeholder; did you mean {{{name}}}?", line)
            elif PLACEHOLDER.search(part):
                yield warning(
                    file, f"{part[:60]!r} is no placeholder, which is a whole part of a path: {{name}}", line
                )
        if "?" in route.path:
            yield warning(file, "no request has a '?' in its path; its query is in request.parameters", line)
        found = MEDIA_TYPE.fullmatch(route.content_type)
        kind = route.content_type.partition(";")[0].strip().lower()
        if found is None or found[1].lower() not in MEDIA:
            similar = did_you_mean(kind, MEDIA_TYPES) or f", such as {JSON}"
            yield warning(file, f"{route.content_type[:60]!r} is no content type{similar}", line)
        elif not (kind in mimetypes.types_map.values() or set(kind) & set(".+")) and (
            similar := did_you_mean(kind, MEDIA_TYPES)
        ):
            yield warning(file, f"no client sends {kind[:60]!r}{similar}", line)


def events(file: str, text: str, named: tuple[str, str | None] | None) -> list[EventScript]:
    """Return the event handlers of a service file.

    A file may have several headers `--#EVENT service event`; with a single word, that is the event, and the file's name
    is the service. A file without headers is one handler, for the service and event in its name. named: these two.
    Raises SettingsError with file and line of each wrong header.
    """
    parts = _split(EVENT, file, text)
    if not parts:
        if named is None or named[1] is None:
            stem = file.rpartition("/")[2].removesuffix(".lua")
            parted = PARTED.sub("_", stem).lower()
            similar = f"; did you mean {parted}.lua?" if "_" in parted and parted != stem else ""
            raise SettingsError(
                f"{file}: names no event: expected --#EVENT or <service>_<event>.lua{similar}"
            )
        return [EventScript(named[0], named[1], ScriptSource(file, 1, text))]
    found = []
    wrong: list[str] = []
    for header, script in parts:
        words = header["words"].split()
        if len(words) == 1:
            words = [script.file.rpartition("/")[2].rpartition(".")[0], *words]
        if len(words) == 2:
            found.append(EventScript(words[0], words[1], script))
        else:
            wrong.append(f"{script.where}: expected --#EVENT <service> <event>, not {' '.join(words)[:60]!r}")
    _raise(wrong)
    return found


def _raise(wrong: list[str]) -> None:
    """Raise SettingsError for these sentences, if there are any."""
    if wrong:
        raise SettingsError(listed(wrong), wrong)


def misspelt_headers(file: str, text: str) -> Iterator[FolderFinding]:
    """Yield a warning for each line such as `--#ENDPOIT` whose word is similar to a header or a tag."""
    for number, line in enumerate(text.split("\n"), 1):
        if spaced := SPACED.match(line):
            yield warning(
                file, f"{spaced[0]} is no header and has no effect; did you mean --#{spaced[1]}?", number
            )
        found = WORD.match(line)
        if found is not None and found[1] not in KNOWN:
            upper = found[1].upper()
            if similar := (f"; did you mean {upper}?" if upper in KNOWN else did_you_mean(upper, KNOWN)):
                yield warning(file, f"--#{found[1]} is no header and has no effect{similar}", number)


def header_lines(text: str, header: str) -> list[int]:
    """Return the lines that begin with this header, such as `EVENT`. The first line is 1."""
    matches = enumerate(map(WORD.match, text.split("\n")), 1)
    return [number for number, match in matches if match is not None and match[1] == header]


def _split(mark: re.Pattern[str], file: str, text: str) -> list[tuple[re.Match[str], ScriptSource]]:
    """Return the headers with their scripts, which extend from the header's line to the next header."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [(number, match) for number, line in enumerate(lines) if (match := mark.search(line))]
    bounds = [*(number for number, _ in starts), len(lines)]
    return [
        (match, ScriptSource(file, number + 1, "\n".join(lines[number:end])))
        for (number, match), end in zip(starts, bounds[1:], strict=True)
    ]


def _tags(script: ScriptSource, wrong: list[str]) -> Tags:
    """Return the tags below a header; append a sentence with file and line to `wrong` for each that is wrong."""
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    is_head = True
    for number, line in enumerate(script.source.split("\n")[1:], script.line + 1):
        match = TAG.match(line)
        if match is None:
            is_head = is_head and NO_CODE.match(line) is not None
            continue
        if not is_head:
            if match["name"] in ("SECURITY", "AUTH", "RATELIMIT"):  # without it the route would be open
                wrong.append(f"{script.file}:{number}: --#{match['name']} stands below code, expected above")
            continue
        name = "SECURITY" if match["name"] == "AUTH" else match["name"]  # the older name
        values[name] = match["value"].strip()
        places[name] = f"{script.file}:{number}: --#{match['name']}"
    return Tags(
        _security(values["SECURITY"], places["SECURITY"], wrong) if "SECURITY" in values else None,
        _rate(values["RATELIMIT"], places["RATELIMIT"], wrong) if "RATELIMIT" in values else None,
        tuple(values.get("TAGS", "").split()),
        values.get("SUMMARY", ""),
        values.get("DESCRIPTION", ""),
    )


def _security(text: str, place: str, wrong: list[str]) -> tuple[str, ...]:
    """Return the kinds of security in a tag's text; append a sentence to `wrong` for each that there is not."""
    kinds = tuple(text.split())
    expected = f"{place}: expected one of {', '.join(sorted(SECURITY))}"
    if not kinds:
        wrong.append(expected)
    wrong += [
        f"{expected}, not {each[:60]!r}{did_you_mean(each, sorted(SECURITY))}"
        for each in kinds
        if each not in SECURITY
    ]
    return kinds


def _rate(text: str, place: str, wrong: list[str]) -> int:
    """Return the number of requests in a tag's text; append a sentence to `wrong` if it is no number."""
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and int(text) <= LARGEST_RATE):
        wrong.append(f"{place}: expected a number of requests a minute, not {text[:20]!r}")
        return 0
    return int(text)
