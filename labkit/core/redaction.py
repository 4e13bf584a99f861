"""Redaction of secrets in logs."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

# Codes, tokens, states and secrets of clients: every secret that a platform issues has this form.
_ISSUED_LENGTH = 40
_ISSUED = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{_ISSUED_LENGTH}}}(?![A-Za-z0-9])")
_NEXT_URL = re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9+.-]{0,30}:/)")  # a comma in a query is its own
_USER = re.compile(r"(?<=//)[^/]*@")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Words in the name of an argument or a setting that mark its value as secret.
_SECRET_WORDS = frozenset(
    "auth authorization bearer code cookie credential credentials cvv jwt keys otp pass passcode passphrase passwd "
    "passwords pin pwd secrets session signature tokens".split()
)
_SECRET_ENDS = ("key", "password", "secret", "token")  # endings of such words, as in `accesstoken`
_LONGEST_NAME = 100


def without_issued(text: str) -> str:
    """Return text with anything that looks like an issued secret redacted."""
    return text if len(text) < _ISSUED_LENGTH else _ISSUED.sub(HIDDEN, text)


def without_issued_in_path(path: str) -> str:
    """Return a URL's path with anything that looks like an issued secret redacted, also percent-encoded."""
    plain = unquote(path) if "%" in path else path
    shown = without_issued(plain)
    return path if shown == plain else shown


def is_secret_name(name: str) -> bool:
    """Return whether a name suggests a secret, such as `apiKey`, `AUTH_TOKEN`, `password2`."""
    if len(name) > _LONGEST_NAME:
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    return any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDS) for word in words)


def without_query_values(url: str, hidden: str = HIDDEN) -> str:
    """Return a URL, or several separated by commas, with the values of its query redacted.

    User names and passwords, fragments and anything that looks like an issued secret are redacted too.
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
