"""What logs show in place of secrets."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

# Codes, tokens, states and secrets of clients: all that a platform makes up for somebody to keep has this form.
_ISSUED_LENGTH = 40
_ISSUED = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{_ISSUED_LENGTH}}}(?![A-Za-z0-9])")
_NEXT_URL = re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9+.-]{0,30}:/)")  # a comma in a query is its own
_USER = re.compile(r"(?<=//)[^/]*@")


def without_issued(text: str) -> str:
    """Text without what looks like a secret that a platform has issued."""
    return text if len(text) < _ISSUED_LENGTH else _ISSUED.sub(HIDDEN, text)


def without_issued_in_path(path: str) -> str:
    """The path of a URL without what looks like an issued secret, also where it is percent-encoded."""
    plain = unquote(path) if "%" in path else path
    shown = without_issued(plain)
    return path if shown == plain else shown


def without_query_values(url: str, hidden: str = HIDDEN) -> str:
    """Return a URL, or several with commas between them, with the names of its query alone.

    User names and passwords, fragments and what looks like an issued secret are hidden too.
    """
    return ",".join(_without_values(each, hidden) for each in _NEXT_URL.split(url))


def _without_values(url: str, hidden: str) -> str:
    rest, hash, fragment = url.partition("#")
    base, mark, query = rest.partition("?")
    base = without_issued_in_path(_USER.sub(f"{hidden}@", base) if "@" in base else base)
    pairs = (each.partition("=") for each in query.split("&")) if query else ()
    shown = "&".join(
        f"{without_issued(name)}={hidden if value else ''}" if equals else (hidden if name else "")
        for name, equals, value in pairs
    )
    return f"{base}{mark}{shown}{hash}{hidden if fragment else ''}"
