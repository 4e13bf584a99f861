"""Types of the arguments of Notify's operations, which validate them and convert objects to JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, SecretStr

from labkit.services.arguments import Whole, expect_unicode
from labkit.services.bounds import DEEPEST, fits, is_deep
from labkit.services.redaction import InJournal, lengths

MOST_TAGS = 20  # of a binding, a filter or a notification (document 3, Limits)
MOST_IDENTITIES = 20  # of a notification
MOST_FILTERED = 100  # identities of a filter; the document sets no limit
FOUR_WEEKS = 28 * 24 * 3600  # seconds
LONGEST_PAGE = 1000  # bindings
LONGEST_NAME = 100  # characters of an identity
LONGEST_TOKEN = 200  # characters
LONGEST_LINE = 4096  # characters of a device token or a title
LONGEST_TEXT = 65_536  # characters of a body; characters and items of a payload together


def _list_of_at_most(most: int) -> BeforeValidator:
    """Return a validator for lists of at most `most` items. A single text or an empty table becomes a list.

    Longer lists are refused before their items are read.
    """

    def check(value: object) -> object:
        if value is None or value == {}:
            return []
        if isinstance(value, list | tuple) and len(value) > most:
            raise ValueError(f"expected at most {most}, not {len(value)}")
        return [value] if isinstance(value, str) else value

    return BeforeValidator(check, json_schema_input_type=str | list[str])


def _json_text(value: object) -> str | None:
    """Return an object as JSON text, None for an empty object. Raises ValueError if it is not a JSON object."""
    if value is None:
        return None
    if isinstance(value, str):
        value = _parsed(value)
    elif not fits(value, LONGEST_TEXT):
        raise ValueError(f"expected at most {LONGEST_TEXT} characters and items in all")
    if value == []:  # an empty table of a script may look like a list
        value = {}
    if not isinstance(value, Mapping):
        raise ValueError("expected an object, or one as JSON text")
    if is_deep(value):  # the depth limit of Python's encoder depends on the version
        raise ValueError(f"expected tables at most {DEEPEST} deep")
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("expected an object of what JSON has: tables, lists, text and numbers") from None
    return expect_unicode(text) if value else None


def _parsed(text: str) -> object:
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"expected at most {LONGEST_TEXT} characters")
    try:
        return json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        raise ValueError("expected an object, or one as JSON text") from None


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not of JSON")


def _login(text: str) -> str:
    """Return a valid login name. Raises ValueError for one with a colon, which ends it in HTTP Basic (RFC 7617, 2)."""
    if ":" in text or not text.isprintable():
        raise ValueError("expected printable characters without a colon")
    return text


def _token(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    if not 1 <= len(text) <= LONGEST_TOKEN or not text.isprintable():
        raise ValueError(f"expected 1 to {LONGEST_TOKEN} printable characters")
    return secret


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Line = Annotated[str, Field(max_length=LONGEST_LINE)]
Login = Annotated[Name, AfterValidator(_login)]
Token = Annotated[SecretStr, AfterValidator(_token)]
Channel = Literal["apn", "fcm", "gcm", "sms", "chat-messenger"]
Tags = Annotated[Sequence[Name], _list_of_at_most(MOST_TAGS)]
Identities = Annotated[Sequence[Name], _list_of_at_most(MOST_IDENTITIES)]
ListedIdentities = Annotated[Sequence[Name], _list_of_at_most(MOST_FILTERED)]
# A notification may carry a login code, so the journal shows only its length, and nothing of a mail's body.
TitleText = Annotated[Line | None, InJournal(lengths)]
BodyText = Annotated[str | None, Field(max_length=LONGEST_TEXT), InJournal(lengths)]
PayloadText = Annotated[
    str | None, PlainValidator(_json_text, json_schema_input_type=dict[str, Any] | str), InJournal(lengths)
]
Urgency = Literal["low", "high"]
Seconds = Annotated[Whole, Field(ge=0, le=FOUR_WEEKS)]
PageLength = Annotated[Whole, Field(ge=1, le=LONGEST_PAGE)]
PageNumber = Annotated[Whole, Field(ge=0, lt=2**31)]
