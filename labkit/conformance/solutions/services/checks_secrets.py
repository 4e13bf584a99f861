"""Secrets in the arguments of scripts' calls, and where redirects take them."""

from __future__ import annotations

import json
from urllib.parse import quote

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, Service
from labkit.conformance.target import Target

PRODUCT = "steered"


@check("SOL-SVC-12", "credentials in calls of scripts, and data that sounds secret", needs={"journal"})
async def unseen(target: Target) -> None:
    secret = f"{target.identity()}-secret".ljust(40, "x")
    named = {"password": secret, "list": [{"access_token": secret}]}
    which = {"identity": target.identity(), "pid": PRODUCT}
    scripts, devices, http = (Service(target, name) for name in ("Scripts", "Device2", "Http"))
    await scripts.done("trigger", event="echo", data=named)
    await scripts.done("trigger", event="keep", mode="async", data={"to": which["identity"], **named})
    await Service(target, "Timer").done("sendAfter", duration=0, message=named)
    await devices.done("addIdentity", **which, auth={"key": secret})
    await devices.done("updateIdentity", **which, auth={"key": secret, "type": "token"})
    seen = target.url(PROBE, "/outgoing/seen")
    given = {"headers": {"Authorization": f"Bearer {secret}"}, "body": named}
    await http.done("post", url=f"{seen}?token={secret}", **given)
    await http.refused("post", 403, url=f"https://example.com/?token={secret}", **given)
    await target.settle()
    records = await target.in_lab(lambda: list(target.lab.journal))
    shown = [(each.kind, each.summary) for each in records if secret in repr((each.summary, each.detail))]
    expect.equal("records with the secret", shown, [])


@check("SOL-SVC-8", "headers with credentials after redirects to the same host and to another")
async def redirected(target: Target) -> None:
    http = Service(target, "Http")
    credentials = {"Authorization": "Basic YTpi", "Cookie": "a=b", "X-Own": "kept"}
    for path, solution, status in (("/outgoing/seen", PROBE, 200), ("/basic", "gate", 401)):
        place = quote(target.url(solution, path), safe="")
        url = target.url(PROBE, f"/outgoing/to/302?location={place}")
        answer = await http.done("get", url=url, headers=credentials)
        expect.equal(f"status at {solution}", answer.get("status_code"), status, http.last)
        if status == 200:
            found = json.loads(answer["body"])["headers"]
            shown = {name: found.get(name.lower()) for name in credentials}
            http.same("headers", shown, credentials)
    answer = await http.done("get", url=target.url("gate", "/basic"), headers=credentials)
    expect.equal("status without a redirect", answer.get("status_code"), 200, http.last)


@check("SOL-SVC-8", "five redirects are followed, and no sixth")
async def five_redirects(target: Target) -> None:
    http, url = Service(target, "Http"), target.url(PROBE, "/outgoing/seen")
    for count in range(1, 7):
        url = target.url(PROBE, f"/outgoing/to/307?location={quote(url, safe='')}")
        found = await http.table("get", url=url)
        status = found.get("status_code") if count < 6 else found.get("status")
        expect.equal(f"status after {count} redirects", status, 200 if count < 6 else 502, http.last)
