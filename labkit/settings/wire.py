"""Settings of the section `wire`: variants of the device API's HTTP answers, and the profiles that choose them."""

from __future__ import annotations

from typing import Literal

from pydantic import StrictBool

from labkit.settings.values import HeaderName, Model


class Wire(Model):
    """Switches for details of HTTP in which the documents, the standards and deployed platforms differ.

    token_headers: headers that may carry a device's token; authorization_token: accept a token in Authorization, too;
    last_modified: format of the header Last-Modified; range_status: status of a partial download;
    download_framing: whether a download has a Content-Length, chunks or both; empty_length: send `Content-Length: 0`
    with a 204; strict_range: refuse the range `bytes=-` with 400 rather than ignore it.
    """

    token_headers: tuple[HeaderName, ...] = ("X-Platform-CIK",)
    authorization_token: StrictBool = True
    last_modified: Literal["timestamp", "http-date"] = "timestamp"
    range_status: Literal[200, 206] = 200
    download_framing: Literal["both", "length", "chunked"] = "both"
    empty_length: StrictBool = True
    strict_range: StrictBool = True


FIELD = Wire(
    last_modified="http-date",
    range_status=206,
    download_framing="length",
    empty_length=False,
    strict_range=False,
)
PROFILES: dict[str, Wire] = {"spec": Wire(), "field": FIELD}
