"""HTML pages of an identity provider, without scripts and without resources from other hosts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.providers.social.messages import ProviderResponse

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def page(name: str, status: int, summary: str, more: Mapping[str, str], **values: object) -> ProviderResponse:
    """Return the page of a template. summary: its description in the inbox; more: additional headers."""
    headers = {
        **more,
        "Content-Security-Policy": f"default-src 'none'; style-src '{_style_hash()}'; "
        "base-uri 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",  # the URL of an authorize page holds the state
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    text = _templates().get_template(name).render(values, style=_style())
    return ProviderResponse(status, text, "text/html", headers, summary)


@cache
def _style() -> str:
    return (TEMPLATES / "style.css").read_text(encoding="utf-8")


@cache
def _style_hash() -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()}"


@cache  # for all labs of a process: to compile the templates takes longer than to start a lab
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, auto_reload=False)
