"""Types of values in settings (names, hosts, ports, numbers), and the base class of every section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    SerializationInfo,
)

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
HOST = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*")
ALIAS = re.compile(r"[A-Za-z0-9_.$-]{1,64}")
SERVICE = re.compile(r"[A-Z][A-Za-z0-9_]{0,63}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 5.6.2
WEB_URL = re.compile(r"https?://[^\s/?#\\@]+([/?][^\s#\\]*)?")  # no fragment (RFC 6749 3.1.2)
TEXT = re.compile(r"[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,98}[^\s\x00-\x1f\x7f])?")


def _matches(pattern: re.Pattern[str], expected: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"expected {expected}, not {text!r}")
        return text

    return AfterValidator(check)


def _secret(secret: SecretStr, info: SerializationInfo) -> str:
    return secret.get_secret_value() if info.context is REVEAL else str(secret)


REVEAL = {"secrets": "revealed"}  # context of a dump to JSON for a lab in another process: it shows secrets

Secret = Annotated[SecretStr, PlainSerializer(_secret, when_used="json")]
Label = Annotated[str, _matches(LABEL, "lower-case letters, digits and inner hyphens, at most 63")]
Host = Annotated[str, _matches(HOST, "a host name in lower case")]
Alias = Annotated[str, _matches(ALIAS, "1 to 64 letters, digits, '_', '-', '.' or '$'")]
ServiceName = Annotated[
    str, _matches(SERVICE, "a capital letter, then letters, digits or '_', at most 64 in all")
]
HeaderName = Annotated[str, _matches(HEADER, "the name of a header")]
WebUrl = Annotated[str, _matches(WEB_URL, "an http or https URL without a fragment")]
Text = Annotated[str, _matches(TEXT, "1 to 100 characters on one line, without spaces around")]
Port = Annotated[int, Field(strict=True, ge=0, le=65535)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Seconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Auth = Literal["token", "password", "certificate"]
Options = Mapping[str, Any]  # a section as plain values, as given in a cell


class Model(BaseModel):
    """Base class of all settings: immutable, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
