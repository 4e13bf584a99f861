"""Planted bug: a quota that is counted before a refusal. A job that the printer refuses uses up the person's quota."""

from __future__ import annotations

from collections import Counter
from functools import partial

from labkit import Lab
from labkit.hunt import Draw, story
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


def tell(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Let people print, who try again after a refusal.

    Promise: nobody gets 429 before three of their jobs were printed. Holds under error answers at service calls,
    restarts, overlap, and delays of any kind.
    """
    printed: Counter[str] = Counter()

    def print_job(person: str) -> dict[str, bool]:
        printed[person] += 1
        return {"done": True}

    lab.service("Printer", print=print_job)
    app = lab.solution("app")
    app.route("POST", "/job", lua=MENDED if mended else BROKEN)
    harm(lab, None)
    for person in ("ann", "bob")[: draw.number(1, 2)]:
        for _ in range(6):
            answer = repeated(lab, partial(app.post, "/job", json={"person": person}))
            early = answer.status_code == 429 and printed[person] < QUOTA
            assert not early, f"{person} has no more jobs after {printed[person]}"
            lab.wait(seconds=draw.number(1, 30))
    finish(lab)


@story
def quota_before_refusal(lab: Lab, draw: Draw) -> None:
    tell(lab, draw)


@story
def quota_before_refusal_mended(lab: Lab, draw: Draw) -> None:
    tell(lab, draw, mended=True)
