"""A fleet whose events several solutions handle concurrently, for tests of exact replay; as a script it prints its
results.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice

IN_LUA = """
Email.send({to = "a@b.c", subject = "lua " .. data.device_sn, text = os.date("!%X") .. tostring(data.value[2])})
Keystore.command({key = "logs", command = "lpush", args = {"lua " .. data.device_sn}})
log.info("lua " .. data.device_sn)
"""
TELLS = """
if data.alias == "number" then
  Interface.trigger({event = "told", data = {sn = data.device_sn, number = data.value[2]}})
end
"""
PHONE = "+15005550001"
INTERFACE = {"events": [{"name": "told"}], "mode": "sync"}


class Reports(Behaviour):
    """Behaviour that records points, and reports with its next request what handlers did with them."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            now = await device.timestamp()
            await device.record({"number": {float(now - back): back for back in range(5)}})
            made = await device.read("made")
            await device.write(message=str(made))
            await device.sleep(60)


def handled(data: dict[str, Any], services: Any, log: Any) -> None:
    """Handle a datapoint in a thread: there are more devices than threads, and faults delay some."""
    sent = services.Email.send(to="a@b.c", subject=f"thread {data['device_sn']}", text=str(data["value"][1]))
    services.Keystore.command(key="logs", command="lpush", args=[f"thread {data['device_sn']}"])
    if data["alias"] == "number":
        services.Device2.setIdentityState(identity=data["device_sn"], made=f"{data['value'][1]} {sent}")
    said = f"thread {data['device_sn']}"
    log.info(said)


async def several(data: dict[str, Any], services: Any, log: Any) -> None:
    """Handle a datapoint on the loop: concurrent calls, over sockets and threads of a database."""

    async def one(number: int) -> None:
        subject = f"loop {number} {data['device_sn']} {data['value'][1]}"
        sent = await services.Notify.send(Identity="ann", Body=subject)
        said = f"{subject} {sent.get('status')}"
        log.info(said)
        users = await services.User.listUsers(filter=f"email::like::{number}%")
        await services.Email.send(to="a@b.c", subject=subject, text=str(users))

    if data["alias"] == "number":
        await asyncio.gather(*map(one, range(3)))


def subscribes(lab: Lab, name: str) -> None:
    def received(event: Any, services: Any, now: Any) -> None:
        services.Email.send(to="a@b.c", subject=f"late {name} {event}", text=str(now()))

    lab.solution(name, subscriptions=[{"publisher": "tells"}]).on("tells", "told")(received)


def story_results() -> dict[str, str]:
    """Run the story, and return all of its results that a seed reproduces."""
    with Lab(seed=7, journal={"records": 1_000_000}) as lab:
        made = {"format": "string", "settable": True}
        resources: dict[str, Any] = {"number": "number", "made": made, "message": "string"}
        product = lab.product("thermostat", resources=resources)
        lab.solution("lua", products=[product]).on("device", "datapoint", lua=IN_LUA)
        thread = lab.solution("thread", products=[product])
        thread.on("device", "datapoint")(handled)
        loop = lab.solution("loop", products=[product], services={"Notify": lab.messaging.account})
        loop.Notify.createBinding(Identity="ann", Endpoint="ann", BindingType="sms", Address=PHONE)
        loop.on("device", "datapoint")(several)
        tells = lab.solution("tells", products=[product], services={"Interface": INTERFACE})
        tells.on("device", "datapoint", lua=TELLS)
        for name in ("home", "flat", "shed"):
            subscribes(lab, name)
        lab.faults.add("Email.send", delay=5, chance=0.2)
        lab.faults.add("Email.send", status=503, chance=0.1)
        lab.faults.add("Keystore.*", delay=5, chance=0.1, when="after")
        lab.faults.add("device datapoint", late=5, chance=0.1)
        lab.faults.add("POST /v1/Services/*/Notifications", delay=5, chance=0.2)
        lab.faults.add("POST /v1/Services/*/Notifications", status=503, chance=0.2)
        lab.faults.add("User.*", delay=5, chance=0.2)
        run = product.fleet(12, Reports).run(minutes=3, requests=True)
        assert run.failures.empty
        assert not [each for each in lab.journal if each.kind == "call" and each.status not in (200, 503)]
        assert not [each for each in lab.journal if each.kind == "script" and each.status not in (200, 204)]
        logs = thread.Keystore.command(key="logs", command="lrange", args=[0, -1])
        return {
            "journal": lab.journal.canonical(),
            "texts": json.dumps([each.text for each in lab.handsets[PHONE].messages]),
            "mails": json.dumps([(each.subject, each.text) for each in lab.mailbox]),
            "logs": json.dumps(logs),
            "frame": run.frame().to_csv(),
            "requests": run.requests().to_csv(),
            "hits": lab.faults.frame().to_csv(),
        }


def main() -> None:
    print(json.dumps(story_results()))  # noqa: T201


if __name__ == "__main__":
    main()
