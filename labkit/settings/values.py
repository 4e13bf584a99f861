"""Types of values in settings (names, hosts, ports, numbers), and the base class of every section."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    SecretStr,
    SerializationInfo,
)
from pydantic_core import CoreSchema, core_schema

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
HOST = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*")
HTTP_HOST = re.compile(rf"{HOST.pattern}(:[0-9]{{1,5}})?")
ALIAS = re.compile(r"[A-Za-z0-9_.$-]{1,64}")
SERVICE = re.compile(r"[A-Z][A-Za-z0-9_]{0,63}")
OPERATION = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 5.6.2
WEB_URL = re.compile(
    r"https?://(\[[0-9A-Fa-f:.]+\]|[^\s/?#\\@\[\]:]+)(:[0-9]{1,5})?([/?][^\s#\\]*)?"
)  # no fragment (RFC 6749 3.1.2)
TEXT = re.compile(r"[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,98}[^\s\x00-\x1f\x7f])?")

MAX_NAME = 256  # characters of names that have no form of their own
MAX_LINE = 4096  # characters of a free text or a URL
MAX_NUMBER = sys.float_info.max


class _Matches:
    """Annotation of a text that has to match a pattern as a whole.

    expected: its description for errors; longest: most characters, where the pattern itself has no bound.
    """

    def __init__(self, pattern: re.Pattern[str], expected: str, longest: int | None = None) -> None:
        self._pattern = pattern
        self._expected = expected
        self._longest = longest

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        bound = {} if self._longest is None else {"maxLength": self._longest}
        return {**handler(schema), "pattern": f"^({self._pattern.pattern})$", **bound}

    def _check(self, text: str) -> str:
        if (self._longest and len(text) > self._longest) or not self._pattern.fullmatch(text):
            raise ValueError(f"expected {self._expected}, not {text!r}")
        return text


def _secret(secret: SecretStr, info: SerializationInfo) -> str:
    return secret.get_secret_value() if info.context is REVEAL else str(secret)


LONGEST_HOST = 253  # characters


def _with_readable_host(url: str) -> str:
    """Return a URL. Raises ValueError for a host or a port that no URL can have, which the pattern lets pass."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"expected an http or https URL without a fragment, not {url!r}: {error}") from None
    try:
        is_name = len((parts.hostname or "").encode("idna")) <= LONGEST_HOST
    except UnicodeError:  # an empty part, one of more than 63 characters, or a character that no name has
        is_name = False
    if not is_name:
        raise ValueError(f"expected a URL with a host name that DNS can have, not {url!r}")
    return url


REVEAL = {"secrets": "revealed"}  # context of a dump to JSON for a lab in another process: it shows secrets

Secret = Annotated[SecretStr, PlainSerializer(_secret, when_used="json")]
Label = Annotated[str, _Matches(LABEL, "lower-case letters, digits and inner hyphens, at most 63")]
Host = Annotated[str, _Matches(HOST, "a host name in lower case", 253)]
HttpHost = Annotated[str, _Matches(HTTP_HOST, "a host in lower case, with a port or without", 259)]
Alias = Annotated[str, _Matches(ALIAS, "1 to 64 letters, digits, '_', '-', '.' or '$'")]
ServiceName = Annotated[
    str, _Matches(SERVICE, "a capital letter, then letters, digits or '_', at most 64 in all")
]
OperationName = Annotated[
    str, _Matches(OPERATION, "a letter, then letters, digits or '_', at most 64 in all")
]
HeaderName = Annotated[str, _Matches(HEADER, "the name of a header", MAX_NAME)]
WebUrl = Annotated[
    str,
    _Matches(WEB_URL, "an http or https URL without a fragment", MAX_LINE),
    AfterValidator(_with_readable_host),
]
Text = Annotated[str, _Matches(TEXT, "1 to 100 characters on one line, without spaces around")]
Port = Annotated[int, Field(strict=True, ge=0, le=65535)]
Number = Annotated[float, Field(strict=True, ge=-MAX_NUMBER, le=MAX_NUMBER, allow_inf_nan=False)]
Seconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
ShortName = Annotated[str, Field(max_length=MAX_NAME)]
FreeText = Annotated[str, Field(max_length=MAX_LINE)]
Auth = Literal["token", "password", "certificate"]
Options = Mapping[str, Any]  # a section as plain values, as given in a cell


class Model(BaseModel):
    """Base class of all settings: immutable, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
