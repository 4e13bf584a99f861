"""Planted bug: publishing before subscribing. A route asks a device, then subscribes to the device's answer."""

from __future__ import annotations

from functools import partial

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, eventually, story
from tests.hunt.planted.parts import Harm, repeated, unharmed

PUBLISH = (
    'Device2.setIdentityState{pid = "lamp", identity = request.body.lamp, question = request.body.number}'
)
SUBSCRIBE = """
Keystore.command{key = "watch " .. request.body.lamp, command = "sadd", args = {request.body.number}}"""
DELIVER = """
if data.alias ~= "answer" then return end
local watch = "watch " .. data.device_sn
for _, number in ipairs(Keystore.command{key = watch, command = "smembers"}.value or {}) do
  Keystore.command{key = "answers", command = "sadd", args = {number}}
  Keystore.command{key = watch, command = "srem", args = {number}}
end"""


class Answers(Behaviour):
    """Behaviour that answers each question at once."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:
                question = await device.wait_for("question")
                while question is not None:
                    await device.write(answer=question)
                    question = None
            except EXCHANGE_ERRORS:
                await device.sleep(15)


def all_are_answered(lab: Lab) -> None:
    """Assert that each question has its answer."""
    found = lab.solution("app").Keystore.command(key="answers", command="smembers")
    answered = len(found.get("value") or ())
    asked = sum(each.summary == "POST /question" for each in lab.journal.select("request", "app"))
    assert answered == asked, f"{answered} of {asked} questions have an answer"


PROMISE = eventually(
    all_are_answered,
    within=420,
    under=("overlap", "event late", "event doubled", "event delay", "request delay", "call delay"),
)


@story(promises=[PROMISE])
def late_subscription(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Ask lamps, and wait for their answers.

    Promise: all are answered seven minutes after the last fault. Holds under overlap, late and doubled events,
    and delays of requests, service calls and events; not under lost events and requests, error answers at service
    calls, and restarts.
    """
    question = {"format": "number", "settable": True}
    product = lab.product("lamp", resources={"question": question, "answer": "number"})
    app = lab.solution("app", products=[product])
    app.route("POST", "/question", lua=SUBSCRIBE + PUBLISH if mended else PUBLISH + SUBSCRIBE)
    app.on("device", "datapoint", lua=DELIVER)
    fleet = product.fleet(draw.number(1, 3), Answers)
    harm(lab, fleet)
    fleet.start(minutes=45, transport="memory")
    lab.wait(seconds=90)  # until all lamps listen
    # one question each, since a later one takes the place of one before
    for number, lamp in enumerate(fleet.identities):
        repeated(lab, partial(app.post, "/question", json={"lamp": lamp, "number": number}))
        lab.wait(seconds=draw.number(1, 60))
    lab.wait(minutes=5)
