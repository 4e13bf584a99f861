"""Mail addresses as arguments of operations. Only the syntax is checked: a lab has no DNS."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from email_validator import EmailNotValidError, validate_email
from pydantic import BeforeValidator

LONGEST_ADDRESS = 320  # characters: 64 before the @ and 255 after it (RFC 5321, section 4.5.3.1)
MOST_ADDRESSES = 100  # in one argument
LOCALHOST = re.compile(r"(?<=[@.])localhost(?=>?$)", re.IGNORECASE)


def address(text: object) -> str:
    """Return a mail address in its normal form; `Ann <ann@example.com>` keeps its name.

    Domains below `localhost` and `test` are valid. Raises ValueError, with the reason, for text that is no address.
    Text of more than LONGEST_ADDRESS characters is refused before parsing: the time of normalising grows with the
    square of its length (Unicode's canonical ordering of combining marks).
    """
    if not isinstance(text, str):
        raise ValueError("expected a mail address")
    if len(text) > LONGEST_ADDRESS:
        raise ValueError(f"expected a mail address of at most {LONGEST_ADDRESS} characters, not {len(text)}")
    return _normal(text)


@lru_cache(
    maxsize=1024
)  # logins repeat the same addresses, and parsing takes a quarter of the time of a login
def _normal(text: str) -> str:
    # The library can allow the domain `test`, but not `localhost`, so `test` replaces it during the check.
    known, swapped = LOCALHOST.subn("test", text)
    try:
        valid = validate_email(
            known,
            check_deliverability=False,
            globally_deliverable=False,
            test_environment=True,
            allow_display_name=True,
        )
    except EmailNotValidError as error:
        raise ValueError(f"{text!r} is not a mail address: {error}") from None
    plain = valid.normalized.removesuffix("test") + "localhost" if swapped else valid.normalized
    return f"{valid.display_name} <{plain}>" if valid.display_name else plain


def _addresses(value: object) -> tuple[str, ...]:
    given = value if isinstance(value, list | tuple) else [value]
    if len(given) > MOST_ADDRESSES:
        raise ValueError(f"expected at most {MOST_ADDRESSES} mail addresses, not {len(given)}")
    return tuple(address(each) for each in given)


Address = Annotated[str, BeforeValidator(address)]
Addresses = Annotated[tuple[str, ...], BeforeValidator(_addresses)]  # one, or a list of them
