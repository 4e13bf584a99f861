"""Answers of labs that are configured to behave as platforms in the field do. The check starts a lab for each
variant.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.lab.device import Device

DATA = bytes(range(100))
DOWNLOAD = "/provision/download?id=item"


@check("DEV-HTTP-16", "the profile of the field, and single switches", needs={"settings"})
async def variants(target: Target) -> None:
    usual = {"length": "0", "dates": False, "status": 200, "framing": ("100", "chunked"), "strict": True}
    field = {"length": None, "dates": True, "status": 206, "framing": ("100", None), "strict": False}
    for settings, wanted in (
        ({}, usual),
        ({"profile": "field"}, field),
        ({"wire": {"last_modified": "http-date"}}, {**usual, "dates": True}),
        ({"wire": {"download_framing": "chunked"}}, {**usual, "framing": (None, "chunked")}),
        ({"wire": {"empty_length": False, "range_status": 206}}, {**usual, "length": None, "status": 206}),
        ({"profile": "field", "wire": SWITCHED}, {**field, "length": "0", "dates": False, "status": 200}),
    ):
        await target.in_lab(_variant, settings, wanted)
    await target.in_lab(_tokens)


SWITCHED = {"empty_length": True, "range_status": 200, "last_modified": "timestamp"}


def _variant(settings: dict[str, Any], wanted: dict[str, Any]) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, **settings) as lab:
        product = lab.product("one", resources={"text": "string"})
        product.content.add("item", DATA)
        device = product.device("d-1").activate()
        response = device.request("POST", device_client.ALIAS, content="text=a", headers=_FORM)
        expect.status(response, 204)
        expect.header(response, "Content-Length", wanted["length"])
        stamp = _last_modified(device)
        date = parsedate_to_datetime(stamp).timestamp() if wanted["dates"] else int(stamp)
        expect.equal("Last-Modified", date, int(lab.clock.time))
        expect.equal("does it end with GMT?", stamp.endswith(" GMT"), wanted["dates"])
        response = device.request("GET", DOWNLOAD, headers={"Range": "bytes=10-19"})
        expect.status(response, wanted["status"])
        expect.equal("its reason", response.reason_phrase, HTTPStatus(wanted["status"]).phrase, response)
        expect.header(response, "Content-Range", "bytes 10-19/100")
        expect.equal("the bytes", response.content, DATA[10:20], response)
        response = expect.status(device.request("GET", DOWNLOAD), 200)
        expect.equal("the bytes", response.content, DATA, response)
        for name, value in zip(("Content-Length", "Transfer-Encoding"), wanted["framing"], strict=True):
            expect.header(response, name, value)
        response = device.request("GET", DOWNLOAD, headers={"Range": "bytes=-"})
        expect.status(response, 400 if wanted["strict"] else 200)


_FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}


def _last_modified(device: Device) -> str:
    stamp = "0"
    for status in (200, 304):
        headers = {"Request-Timeout": "0", "If-Modified-Since": stamp}
        response = device.request("GET", f"{device_client.ALIAS}?text", headers=headers)
        stamp = expect.status(response, status).headers.get("Last-Modified", stamp)
    return stamp


def _tokens() -> None:
    from labkit.lab.lab import Lab

    wire = {"token_headers": ["X-Own", "X-Other"], "authorization_token": False}
    with Lab(1, wire=wire) as lab:
        device = lab.product("one", resources={"text": "string"}).device("d-1").activate()
        token = device.credentials.token
        for name, value, status in (
            ("X-Own", token, 200),
            ("x-other", token, 200),
            ("X-Platform-CIK", token, 401),
            ("Authorization", f"Token {token}", 401),
        ):
            response = device.request(
                "GET", f"{device_client.ALIAS}?text", credentials=False, headers={name: str(value)}
            )
            served = response.status_code if response.status_code == 401 else 200
            expect.equal(f"status with {name}", served, status, response)
