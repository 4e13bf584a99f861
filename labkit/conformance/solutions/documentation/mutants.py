"""Faults of the documentation of routes that no row can express."""

from __future__ import annotations

from html import unescape
from typing import Any

from labkit.conformance.breaking import change_arguments
from labkit.conformance.mutant import patch

DOCUMENT = "labkit.solutions.solution:PlatformSolution.document"
PAGE = "labkit.solutions.site:page"

all_documented = patch(
    "SOL-DOC-1", "labkit.solutions.solution:document", "routes without a documented tag are there"
)(change_arguments(settings=lambda settings: settings.model_copy(update={"documented_endpoints": ()})))
no_schema = patch("SOL-DOC-2", "labkit.solutions.solution:document", "schema.yml has no effect")(
    change_arguments(schema={})
)


@patch("SOL-DOC-3", PAGE)
def raw_texts(original: Any, path: str, document: Any) -> Any:
    """texts of a solution are HTML in the page"""
    content, kind = original(path, document)
    return unescape(content.decode()).encode(), kind


@patch("SOL-DOC-3", PAGE)
def script_from_elsewhere(original: Any, path: str, document: Any) -> Any:
    """the page loads a script from another host"""
    content, kind = original(path, document)
    script = b'<script src="https://cdn.example/ui.js"></script></main>'
    return content.replace(b"</main>", script), kind
