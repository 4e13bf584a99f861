"""How the device API appears on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import StrictBool

from labkit.settings.values import HeaderName, Model


class Wire(Model):
    """How the device API appears on the wire where the documents, the standards and the field differ."""

    token_headers: tuple[HeaderName, ...] = ("X-Platform-CIK",)
    authorization_token: StrictBool = True
    last_modified: Literal["timestamp", "http-date"] = "timestamp"
    range_status: Literal[200, 206] = 200
    download_framing: Literal["both", "length", "chunked"] = "both"
    empty_length: StrictBool = True  # Content-Length: 0 on a 204
    strict_range: StrictBool = True  # `bytes=-` is 400, not ignored


FIELD = Wire(
    last_modified="http-date",
    range_status=206,
    download_framing="length",
    empty_length=False,
    strict_range=False,
)
PROFILES: dict[str, Wire] = {"spec": Wire(), "field": FIELD}
