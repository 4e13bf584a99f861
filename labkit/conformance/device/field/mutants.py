"""Faults of what the device API takes in the field."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

from labkit.conformance.breaking import always, change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.device_api.authenticate import Credential
from labkit.http.error import HttpError

UNPACK = "labkit.http.codings:unpack"
FIELD = {"DEV-FIELD-1": "basic_token", "DEV-FIELD-2": "content_coding", "DEV-FIELD-4": "large_values"}

no_switch = patch(
    " ".join(FIELD), "labkit.settings.lab:LabSettings.wire_behaviour", "the profile changes nothing here"
)(change_result(lambda wire: wire.model_copy(update=dict.fromkeys(FIELD.values(), False))))
all_accept = patch("DEV-FIELD-3", "labkit.http.codings:accepts_gzip", "every answer is compressed")(
    always(True)
)
never_packed = patch("DEV-FIELD-3", "labkit.http.codings:accepts_gzip", "no answer is compressed")(
    always(False)
)
any_size = patch("DEV-FIELD-4", "labkit.http.sites:read_body", "a body of any size is taken")(
    change_arguments(limit=2**30)
)
unknown_lost = patch("DEV-FIELD-5", "labkit.device_api.emitted:stored", "data_in has known aliases alone")(
    change_arguments(others=())
)


@patch("DEV-FIELD-1", "labkit.device_api.authenticate:authorization")
def any_name(original: Any, exchange: Any, header: str) -> Any:
    """a token is taken with any name, and by products with passwords"""
    found = original(exchange, header)
    return Credential("token", found.value) if found.type == "password" and found.value else found


@patch("DEV-FIELD-2", UNPACK)
def one_member(original: Any, body: bytes, limit: int) -> Any:
    """gzip is read as far as its first member"""
    member = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        member.decompress(body, limit)
    except zlib.error:
        return original(body, limit)
    return original(body[: len(body) - len(member.unused_data)], limit)


@patch("DEV-FIELD-2", UNPACK)
def bombs(original: Any, body: bytes, limit: int) -> bytes:
    """gzip may unpack to a thousand times its size"""
    try:
        found = gzip.decompress(body)
    except (EOFError, OSError, zlib.error):
        raise HttpError(400, "no gzip") from None
    if len(found) > limit:
        raise HttpError(413, "too large")
    return found


unbounded = patch("DEV-FIELD-2", UNPACK, "gzip may unpack beyond the limit of a body")(
    change_arguments(limit=2**30)
)
