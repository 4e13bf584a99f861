"""HTML pages of an identity provider, without scripts and without resources from other hosts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.providers.social.messages import ProviderResponse

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


class Pages:
    """Renderer of the page templates."""

    def page(
        self, name: str, status: int, summary: str, more: Mapping[str, str], **values: object
    ) -> ProviderResponse:
        """Return the page of a template. summary: its description in the inbox; more: additional headers."""
        headers = {
            **more,
            "Content-Security-Policy": f"default-src 'none'; style-src '{self._style_hash}'; "
            "base-uri 'none'; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",  # the URL of an authorize page holds the state
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        text = self._templates.get_template(name).render(values, style=self._style)
        return ProviderResponse(status, text, "text/html", headers, summary)

    @cached_property
    def _style(self) -> str:
        return (TEMPLATES / "style.css").read_text(encoding="utf-8")

    @cached_property
    def _style_hash(self) -> str:
        return f"sha256-{base64.b64encode(hashlib.sha256(self._style.encode()).digest()).decode()}"

    @cached_property
    def _templates(self) -> Environment:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        loader = FileSystemLoader(TEMPLATES)
        return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, auto_reload=False)
