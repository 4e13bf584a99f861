"""Bodies of answers as the journal shows them."""

from __future__ import annotations

import json
from typing import Any

from labkit.core.hiding import without_issued
from labkit.http.reply import Answer
from labkit.http.sites import Site
from labkit.services.redaction import redacted

LONGEST = 64 * 1024  # bytes of a body that is shown


def shown_body(site: Site[Any], answer: Answer) -> str:
    """Return the text of an answer without secrets; empty if it is no text, or not of a device or a solution.

    Of JSON, values whose names suggest a secret are hidden, and of each text the secrets that the platform has issued.
    """
    body = getattr(answer, "body", None)
    if site.product is None and site.solution is None:
        return ""
    if not isinstance(body, bytes) or not 0 < len(body) <= LONGEST:
        return ""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return ""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return without_issued(text)
    return (
        json.dumps(redacted(data), ensure_ascii=False)
        if isinstance(data, dict | list)
        else without_issued(text)
    )
