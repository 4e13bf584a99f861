"""What logs show in place of secrets."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

# Codes, tokens, states and secrets of clients: all that a platform makes up for somebody to keep has this form.
_ISSUED_LENGTH = 40
_ISSUED = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{_ISSUED_LENGTH}}}(?![A-Za-z0-9])")
_QUERY_VALUE = re.compile(r"([?&][^=&#\s]*=)[^&#,\s]+")


def without_issued(text: str) -> str:
    """Text without what looks like a secret that a platform has issued."""
    return text if len(text) < _ISSUED_LENGTH else _ISSUED.sub(HIDDEN, text)


def without_issued_in_path(path: str) -> str:
    """The path of a URL without what looks like an issued secret, also where it is percent-encoded."""
    plain = unquote(path) if "%" in path else path
    shown = without_issued(plain)
    return path if shown == plain else shown


def without_query_values(url: str, hidden: str = HIDDEN) -> str:
    """A URL, or several with commas between them, of whose queries the names alone are told."""
    return _QUERY_VALUE.sub(rf"\1{hidden}", url)
