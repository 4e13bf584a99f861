"""Settings of the section `wire`: variants of HTTP answers and of services, and the profiles that choose them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StrictBool

from labkit.core.keywords import Doc
from labkit.settings.values import HeaderName, Model


class Wire(Model):
    """Switches for details in which the documents, the standards and deployed platforms differ.

    token_headers: headers that may carry a device's token; authorization_token: accept a token in Authorization, too;
    last_modified: format of the header Last-Modified; range_status: status of a partial download;
    download_framing: whether a download has a Content-Length, chunks or both; empty_length: send `Content-Length: 0`
    with a 204; strict_range: refuse the range `bytes=-` with 400 rather than ignore it.

    The newer ones are what published references of such platforms say beyond the documents.
    """

    token_headers: tuple[HeaderName, ...] = ("X-Platform-CIK",)
    authorization_token: StrictBool = True
    last_modified: Literal["timestamp", "http-date"] = "timestamp"
    range_status: Literal[200, 206] = 200
    download_framing: Literal["both", "length", "chunked"] = "both"
    empty_length: StrictBool = True
    strict_range: StrictBool = True
    basic_token: Annotated[
        StrictBool,
        Doc("accept a product's token as the password of an empty name, too (`curl -u :TOKEN`)", since="1.4"),
    ] = False
    content_coding: Annotated[
        StrictBool,
        Doc(
            "understand gzip in a device's request, and compress answers of 256 bytes or more where it accepts gzip "
            "and they get shorter",
            since="1.4",
        ),
    ] = False
    large_values: Annotated[
        StrictBool,
        Doc(
            "take bodies of up to `guard.device_body` bytes with values of up to 64 KiB, rather than bodies of up to "
            "64 KiB",
            since="1.4",
        ),
    ] = False
    unknown_aliases: Annotated[
        StrictBool,
        Doc(
            "give values of aliases without a resource, which are not stored, to the handlers of data_in",
            since="1.4",
        ),
    ] = False
    tsdb_half_open: Annotated[
        StrictBool,
        Doc(
            "leave a given end out of queries of Tsdb, and rows that lack a value where `fill` says nothing",
            since="1.4",
        ),
    ] = False
    user_pages: Annotated[
        StrictBool,
        Doc(
            "have listUsers with both offset and limit return `{items, total}` rather than a list",
            since="1.4",
        ),
    ] = False
    lasting_tokens: Annotated[
        StrictBool, Doc("keep a user's tokens valid when the user gets a new password", since="1.4")
    ] = False
    token_minutes: Annotated[
        StrictBool,
        Doc("take the time_to_live of getUserToken as minutes; off in both profiles", since="1.4"),
    ] = False
    http_invalid: Annotated[
        Literal[400, 422],
        Doc("status of a call of Http with an argument that is not valid; a missing one is 400", since="1.4"),
    ] = 400
    no_content: Annotated[
        StrictBool,
        Doc("return `{status_code = 204}` where an operation gives nil; off in both profiles", since="1.4"),
    ] = False


FIELD = Wire(
    last_modified="http-date",
    range_status=206,
    download_framing="length",
    empty_length=False,
    strict_range=False,
    basic_token=True,
    content_coding=True,
    large_values=True,
    unknown_aliases=True,
    tsdb_half_open=True,
    user_pages=True,
    lasting_tokens=True,
    http_invalid=422,
)
PROFILES: dict[str, Wire] = {"spec": Wire(), "field": FIELD}
