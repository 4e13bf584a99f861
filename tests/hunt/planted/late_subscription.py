"""Planted bug: publishing before subscribing. A route asks a device, then subscribes to the device's answer."""

from __future__ import annotations

from functools import partial

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, story
from tests.hunt.planted.parts import Harm, finish, repeated, unharmed

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
WITHIN = 420  # seconds


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


def tell(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Ask lamps, and wait for their answers.

    Promise: a question is answered within seven minutes. Holds under overlap, late and doubled events, and delays up to
    30 s of requests, service calls and events; not under lost events and requests, error answers at service calls, and
    restarts.
    """
    question = {"format": "number", "settable": True}
    product = lab.product("lamp", resources={"question": question, "answer": "number"})
    app = lab.solution("app", products=[product])
    app.route("POST", "/question", lua=SUBSCRIBE + PUBLISH if mended else PUBLISH + SUBSCRIBE)
    app.on("device", "datapoint", lua=DELIVER)
    fleet = product.fleet(2, Answers)
    harm(lab, fleet)
    run = fleet.start(minutes=45, transport="memory")
    lab.wait(seconds=90)  # until all lamps listen
    for number in range(draw.number(1, 5)):
        asked = {"lamp": fleet.identities[number % 2], "number": number}
        repeated(lab, partial(app.post, "/question", json=asked))
        lab.wait(seconds=WITHIN)
        answered = app.Keystore.command(key="answers", command="smembers").get("value", [])
        assert str(number) in answered, f"question {number} has no answer after {WITHIN} s"
    run.stop()
    finish(lab)


@story
def late_subscription(lab: Lab, draw: Draw) -> None:
    tell(lab, draw)


@story
def late_subscription_mended(lab: Lab, draw: Draw) -> None:
    tell(lab, draw, mended=True)
