"""Answers to devices of labs that take what published references describe beyond the documents."""

from __future__ import annotations

import base64
import gzip
from hashlib import shake_256
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.lab.device import Device

FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
GZIP = {**FORM, "Content-Encoding": "gzip"}
READ = f"{device_client.ALIAS}?text"
KIB = 1024


def _device(lab: Any) -> Device:
    found: Device = (
        lab.product("one", resources={"text": "string", "other": "string"}).device("d-1").activate()
    )
    return found


def _write(
    device: Device, content: bytes, status: int, headers: dict[str, str] = FORM, path: str = ""
) -> None:
    response = device.request("POST", path or device_client.ALIAS, content=content, headers=headers)
    expect.status(response, status)


@check("DEV-FIELD-1", "the token as the password of an empty name", needs={"settings"})
async def basic(target: Target) -> None:
    for wire, status in (({}, 401), ({"basic_token": True}, 204)):
        await target.in_lab(_basic, {"wire": wire}, status)
    await target.in_lab(_basic, {"profile": "field"}, 204)


def _basic(settings: dict[str, Any], status: int) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, **settings) as lab:
        device = _device(lab)
        token = str(device.credentials.token)
        other = lab.product("two", auth="password", resources={"text": "string"}).device("d-1").activate()
        for each, name, secret, wanted in (
            (device, "", token, status),
            (device, "", f"{token}x", 401),
            (device, "", "", 401),
            (device, "d-1", token, 401),
            (other, "", str(other.credentials.password), 401),
            (other, "d-1", str(other.credentials.password), 204),
        ):
            value = base64.b64encode(f"{name}:{secret}".encode()).decode()
            headers = {"Authorization": f"Basic {value}"}
            response = each.request("GET", READ, credentials=False, headers=headers)
            expect.status(response, wanted)


@check("DEV-FIELD-2", "forms in gzip, and what is no gzip or too large", needs={"settings"})
async def packed_requests(target: Target) -> None:
    await target.in_lab(_packed_requests)


def _packed_requests() -> None:
    from labkit.lab.lab import Lab

    whole = gzip.compress(b"text=one&other=two")
    with Lab(1, profile="field") as lab:
        device = _device(lab)
        members = gzip.compress(b"text=o") + gzip.compress(b"ne&other=two")
        for content, headers in ((whole, GZIP), (members, {**GZIP, "Content-Encoding": "X-GZip, identity"})):
            _write(device, b"text=x&other=x", 204)
            _write(device, content, 204, headers)
            expect.equal("stored", device.read("text", "other"), {"text": "one", "other": "two"})
        point = gzip.compress(b"alias=text&1=early")
        _write(device, point, 204, GZIP, "/onep:v1/stack/record")
        bomb = b"none=" + b"&none=".join([b"a" * 50 * KIB] * 18)
        digits = shake_256().hexdigest(25 * KIB).encode()  # which gzip halves
        large = b"none=" + b"&none=".join([digits] * 21)
        empty = gzip.compress(b"")
        for content, coding, status in (
            (whole[:-1], "gzip", 400),
            (b"text=two", "gzip", 400),
            (whole + b"more", "gzip", 400),
            (whole + empty * 16, "gzip", 400),
            (whole, "deflate", 415),
            (whole, "gzip, gzip", 415),
            (gzip.compress(bomb), "gzip", 413),
            (gzip.compress(large), "gzip", 413),
        ):
            _write(device, content, status, {**GZIP, "Content-Encoding": coding})
        expect.equal("stored", device.read("text"), {"text": "one"})


@check("DEV-FIELD-3", "answers in gzip, where they are accepted and get shorter", needs={"settings"})
async def packed_answers(target: Target) -> None:
    await target.in_lab(_packed_answers)


def _packed_answers() -> None:
    from labkit.lab.lab import Lab

    for profile in ("spec", "field"):
        with Lab(1, profile=profile) as lab:
            device = _device(lab)
            for value, accepted, coded in (
                ("a" * 251, "gzip", True),
                ("a" * 250, "gzip", False),
                ("a" * 251, "br;q=1, *;q=0.5", True),
                ("a" * 251, "identity, x-gzip;q=0.001", True),
                ("a" * 251, "gzip;q=0, *", False),
                ("a" * 251, "gzip;q=0.000", False),
                ("a" * 251, "br, identity", False),
            ):
                device.write(text=value)
                response = expect.status(
                    device.request("GET", READ, headers={"Accept-Encoding": accepted}), 200
                )
                expect.equal("the answer", response.text, f"text={value}", response)
                coding = "gzip" if coded and profile == "field" else None
                expect.header(response, "Content-Encoding", coding)
                expect.header(response, "Vary", coding and "Accept-Encoding")


@check("DEV-FIELD-4", "values of 64 KiB in larger bodies, and the limits of both", needs={"settings"})
async def large_values(target: Target) -> None:
    await target.in_lab(_large_values)


def _large_values() -> None:
    from labkit.lab.lab import Lab

    with Lab(1, profile="field", guard={"device_body": 256 * KIB}) as lab:
        device = _device(lab)
        value = "%C3%A9" * (32 * KIB)  # of two bytes each
        _write(device, f"text={value}&other={'b' * 10}".encode(), 204)
        expect.equal("stored", device.read("text"), {"text": "é" * (32 * KIB)})
        for body in (
            f"other=c&text={value}x",
            f"other=c&text={'a' * 60 * KIB}&" + f"none={'a' * 60 * KIB}&" * 4,
            "other=c" + "&other=c" * 16_384,
        ):
            _write(device, body.encode(), 413)
        expect.equal("stored", device.read("other"), {"other": "b" * 10})


@check("DEV-FIELD-5", "data_in with values of unknown aliases", needs={"settings"})
async def unknown_aliases(target: Target) -> None:
    await target.in_lab(_unknown_aliases)


def _unknown_aliases() -> None:
    from labkit.lab.lab import Lab

    with Lab(1, profile="field") as lab:
        device = _device(lab)
        solution, seen, points = lab.solution("one-app", products=["one"]), [], []
        solution.on("device2", "event", lambda event: seen.append(event["payload"]))
        solution.on("device", "datapoint", lambda event: points.append(event["alias"]))
        now = int(lab.clock.time)
        for path, body in (
            (device_client.ALIAS, b"text=a&mode=b"),
            (device_client.ALIAS, b"mode=c"),
            ("/onep:v1/stack/record", b"alias=mode&1=d&5=e&alias=text&1=f"),
        ):
            _write(device, body, 204, path=path)
        lab.settle()
        wanted = [
            [(now, {"text": "a", "mode": "b"})],
            [(now, {"mode": "c"})],
            [(1, {"mode": "d", "text": "f"}), (5, {"mode": "e"})],
        ]
        found = [
            [(int(each["timestamp"]) // 1_000_000, each["values"]) for each in entries] for entries in seen
        ]
        expect.equal("payloads of data_in", found, wanted)
        expect.equal("datapoints", points, ["text", "text"])
        response = device.request("GET", f"{device_client.ALIAS}?mode")
        expect.status(response, 204)
