"""Notify: limits on the length and number of parameters.

Values at a limit reach the provider; values beyond it are refused with 400.
"""

from __future__ import annotations

import json
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.notifications import Notify
from labkit.conformance.probe import PROBE
from labkit.conformance.target import Target

LINE, OBJECT, TEXT, TOKEN, NAME, QUERY = 4096, 32_768, 65_536, 200, 100, 6000
PAYLOADS = ("Data", "Apn", "Fcm", "Gcm", "Sms", "ChatMessenger")


@check("NTF-CALL-14", "parameters of send, to their limits")
async def sent(target: Target) -> None:
    notify, nobody = Notify(target), target.identity()
    for name, longest in (("Title", LINE), ("Sound", LINE), ("Action", LINE), ("Body", LINE)):
        await _expect_status(notify, None, "send", Identity=nobody, **{name: "x" * longest})
        await _expect_status(notify, 400, "send", Identity=nobody, **{name: "x" * (longest + 1)})
    for name in ("Data", "Fcm"):
        text = json.dumps({"data": {"k": "x" * (OBJECT - 19)}})
        await _expect_status(notify, None, "send", Identity=nobody, **{name: text})
        await _expect_status(notify, None, "send", Identity=nobody, **{name: json.loads(text)})
        for wrong in (
            text.replace("xx", "xxx", 1),
            {"data": {"k": "x" * TEXT}},
            {"data": {"k": ["é"] * TEXT}},
        ):
            await _expect_status(notify, 400, "send", Identity=nobody, **{name: wrong})
    for several in ("Identity", "Tag"):
        await _expect_status(notify, None, "send", **{several: [f"{nobody}{number}" for number in range(20)]})
        await _expect_status(notify, 400, "send", **{several: [f"{nobody}{number}" for number in range(21)]})
    await _expect_status(notify, None, "send", Identity=[nobody.ljust(NAME, "é")])
    await _expect_status(notify, 400, "send", Identity=[nobody.ljust(NAME + 1, "é")])


@check("NTF-CALL-14", "payloads that JSON cannot represent are refused", needs={"settings"})
async def no_json(target: Target) -> None:
    notify, nobody = Notify(target), target.identity()
    service: Any = target.lab.solution(PROBE).Notify
    infinite = (float("inf"), float("nan"), [1, float("-inf")], {1, 2}, object(), "half \ud83d")
    for name in PAYLOADS:
        for wrong in infinite:
            given = {"Identity": nobody, "Body": "a body", name: {"a": wrong}}
            found = await target.in_lab(service.send, **given)
            expect.equal(f"status with {wrong!r} in {name}", found.get("status"), 400, notify.last)


@check("NTF-CALL-14", "credentials, identities and pages, to their bounds")
async def asked(target: Target) -> None:
    notify = Notify(target)
    sid = (await notify.bound())["sid"]
    for fits in ({"AuthToken": "é" * TOKEN}, {"AuthToken": "t"}, {"AccountSid": "A" * NAME}):
        await _expect_status(notify, 401, "getBinding", BindingSid=sid, **fits)
    for wrong in (
        {"AuthToken": "é" * (TOKEN + 1)},
        {"AuthToken": ""},
        {"AuthToken": "a\nb"},
        {"AccountSid": "A" * (NAME + 1)},
        {"AccountSid": "A:b"},
        {"AccountSid": "A\nb"},
        {"AccountSid": ""},
    ):
        await _expect_status(notify, 400, "getBinding", BindingSid=sid, **wrong)
    for count, status in ((100, None), (101, 400)):
        await _expect_status(
            notify, status, "listBinding", Identity=[f"i{number}" for number in range(count)]
        )
    for page, status in ((0, None), (2**31, 400), (-1, 400), (1.5, 400)):
        await _expect_status(notify, status, "listBinding", Page=page)
    whole = QUERY // 100 - 1  # identities of 100 bytes each in a URL, with the parameter's name
    for rest, status in ((100, None), (101, 400)):
        names = ["i" * (100 - len("Identity=&"))] * whole + ["i" * (rest - len("Identity="))]
        await _expect_status(notify, status, "listBinding", Identity=names)


async def _expect_status(notify: Notify, status: int | None, operation: str, **given: Any) -> None:
    """Raise a Mismatch unless a call gives an error of this status, or no error if it is None."""
    _, found = await notify.call("Notify", operation, given)
    what = f"status of {operation} with {', '.join(given)}"
    expect.equal(what, found.get("status") if "error" in found else None, status, notify.last)
