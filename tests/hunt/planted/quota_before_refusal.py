"""Planted bug: a quota that is counted before a refusal. A job that the printer refuses uses up the person's quota."""

from __future__ import annotations

from functools import partial

from labkit import Lab
from labkit.hunt import Draw, always, story
from tests.hunt.planted.parts import Harm, finish, repeated, unharmed

QUOTA = 3
BROKEN = f"""
local key = "used " .. request.body.person
local used = Keystore.command{{key = key, command = "incr"}}.value or 0
if used > {QUOTA} then response.code = 429 return "no more jobs today" end
local printed = Printer.print{{person = request.body.person}}
if printed.error then response.code = 502 return "try again" end"""
MENDED = f"""
local key = "used " .. request.body.person
local used = tonumber(Keystore.get{{key = key}}.value or 0)
if used >= {QUOTA} then response.code = 429 return "no more jobs today" end
local printed = Printer.print{{person = request.body.person}}
if printed.error then response.code = 502 return "try again" end
Keystore.command{{key = key, command = "incr"}}"""


def nobody_is_refused_early(lab: Lab) -> None:
    """Assert that three jobs were printed before the first 429."""
    printed = 0
    for each in lab.journal:
        if each.kind == "call" and each.summary == "Printer.print" and (each.status or 0) < 400:
            printed += 1
        early = each.kind == "request" and each.status == 429 and printed < QUOTA
        assert not early, f"no more jobs after {printed}"


PROMISE = always(nobody_is_refused_early, every=60, under=("calls", "platform", "order", "quotas"))


@story(promises=[PROMISE])
def quota_before_refusal(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Let a person print, who tries again after a refusal.

    Promise: nobody gets 429 before three of their jobs were printed. Holds under error answers at service calls,
    restarts, overlap, and delays of any kind.
    """
    lab.service("Printer", print=lambda person: {"done": True})
    app = lab.solution("app")
    app.route("POST", "/job", lua=MENDED if mended else BROKEN)
    harm(lab, None)
    for _ in range(draw.number(4, 8)):
        repeated(lab, partial(app.post, "/job", json={"person": "ann"}))
        lab.wait(seconds=draw.number(1, 30))
    finish(lab)
