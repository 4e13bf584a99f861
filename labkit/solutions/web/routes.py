"""Routes of a solution: lookup of a route by method and path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from labkit.core.errors import SettingsError
from labkit.solutions.folders.scripts import JSON, METHODS, PLACEHOLDER, Tags
from labkit.solutions.handlers import Handler
from labkit.solutions.origins import INSTALLED, Origin

Values = tuple[str, ...]

SLASHES = re.compile("/{2,}")
MOST_KEPT, LONGEST_KEPT = 500, 200  # lookups that are kept, and the characters of such a path


@dataclass(frozen=True, slots=True)
class Route:
    """Method and path template with the handler of their requests.

    where: file and line of the route's definition; origin: the handler's origin.
    """

    method: str
    path: str
    handler: Handler
    content_type: str = JSON
    where: str = "a cell"
    tags: Tags = field(default_factory=Tags)
    origin: Origin = INSTALLED

    @property
    def placeholders(self) -> list[str]:
        """Names of the path's placeholders, in order."""
        return PLACEHOLDER.findall(self.path)


@dataclass(slots=True)
class Node:
    """Node of the path tree.

    exact: child nodes by segment; any: the child node of a placeholder; routes: routes whose path ends here, by method.
    """

    exact: dict[str, Node] = field(default_factory=dict)
    any: Node | None = None
    routes: dict[str, Route] = field(default_factory=dict)

    def next(self, segment: str) -> Node:
        """Return the child node for a segment of a template; creates a missing node."""
        if PLACEHOLDER.fullmatch(segment):
            self.any = self.any or Node()
            return self.any
        return self.exact.setdefault(unquote(segment), Node())

    def ends(self, segments: list[str], values: Values = ()) -> Iterator[tuple[Node, Values]]:
        """Yield the nodes that match a path, with the values of placeholders; exact segments first."""
        if not segments:
            if self.routes:
                yield self, values
            return
        segment, *rest = segments
        if (exact := self.exact.get(segment)) is not None:
            yield from exact.ends(rest, values)
        if self.any is not None and segment:
            yield from self.any.ends(rest, (*values, segment))


@dataclass(frozen=True, slots=True)
class Match:
    """Result of a lookup. route: None without a match; allowed: the path's methods if only the method is wrong."""

    route: Route | None
    parameters: dict[str, str]
    allowed: list[str]


class Routes:
    """Table of a solution's routes.

    A placeholder matches one non-empty URL-decoded segment; exact segments take precedence over placeholders. A slash
    at the end is ignored, repeated slashes count as one. HEAD falls back to GET.
    """

    def __init__(self) -> None:
        self._root = Node()
        self._found: dict[tuple[str, str], Match] = {}  # by method and path, of recent lookups

    def add(self, route: Route) -> None:
        """Add a route. Raises SettingsError for a bad method or path, and if a route has this method and path."""
        other = self._end(route).get(route.method)
        if other is not None:
            raise SettingsError(f"{route.where}: {route.method} {route.path} is in {other.where} too")
        self.replace(route)

    def at(self, route: Route) -> Route | None:
        """Return the existing route with the same method and path. Raises SettingsError for a bad method or path."""
        return self._end(route).get(route.method)

    def replace(self, route: Route) -> Route | None:
        """Add a route and return the route that it replaces, or None. Raises SettingsError as `at` does."""
        routes = self._end(route)
        replaced = routes.get(route.method)
        routes[route.method] = route
        self._found.clear()
        return replaced

    def _end(self, route: Route) -> dict[str, Route]:
        """Return the routes with the path of `route`, by method."""
        if route.method not in METHODS:
            first = "; a method comes before its path" if route.method.startswith("/") else ""
            known = ", ".join(sorted(METHODS))
            raise SettingsError(f"{route.where}: {route.method!r} is no method: {known}{first}")
        node = self._root
        for segment in segments_of(route.path):
            if re.search("[{}]", segment) and not PLACEHOLDER.fullmatch(segment):
                raise SettingsError(f"{route.where}: {route.path}: a placeholder must be a whole segment")
            node = node.next(segment)
        if len(set(route.placeholders)) < len(route.placeholders):
            raise SettingsError(f"{route.where}: {route.path}: a placeholder is named twice")
        return node.routes

    def match(self, method: str, path: str) -> Match:
        """Return the route for a method and a raw path. Raises ValueError if it is not percent-encoded UTF-8."""
        key = method, path
        found = self._found.get(key)
        if found is None:
            found = self._find(method, path)
            if len(path) <= LONGEST_KEPT:
                if len(self._found) >= MOST_KEPT:
                    self._found.clear()
                self._found[key] = found
        return found

    def _find(self, method: str, path: str) -> Match:
        segments = [unquote(segment, errors="strict") for segment in segments_of(path)]
        ends = list(self._root.ends(segments))
        for name in (method, "GET") if method == "HEAD" else (method,):
            for node, values in ends:
                if (route := node.routes.get(name)) is not None:
                    return Match(route, dict(zip(route.placeholders, values, strict=True)), [])
        allowed = {method for node, _ in ends for method in node.routes}
        return Match(None, {}, sorted(allowed | ({"HEAD"} if "GET" in allowed else set())))

    def __iter__(self) -> Iterator[Route]:
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            yield from node.routes.values()
            waiting += [*node.exact.values(), *([node.any] if node.any else [])]


def single_slashes(path: str) -> str:
    """Return a raw path with repeated slashes replaced by one."""
    return SLASHES.sub("/", path) if "//" in path else path


def segments_of(path: str) -> list[str]:
    """Return the segments of a raw path, without empty ones at its ends."""
    path = single_slashes(path).strip("/")
    return path.split("/") if path else []
