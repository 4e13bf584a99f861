"""Stories with every place that faults can hit; as a script it prints digests of plays with each kind of fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from labkit import Behaviour, Lab, LabkitError
from labkit.fleet.fleet_device import EXCHANGE_ERRORS, FleetDevice
from labkit.hunt import Draw, DrawnFault, Story, play, story
from labkit.hunt.faults.recipes import ORDERS, RECIPES, Bounds, Chooser
from labkit.hunt.faults.sites import Sites
from labkit.hunt.faults.sizes import LEVELS
from labkit.hunt.kinds import GROUPS, KINDS
from labkit.hunt.plays.levels import calm_sites
from tests.firmware.programs import device_in_c
from tests.hunt.hunted import whole
from tests.lab.story_parts import RESOURCES
from tests.providers.social.test_login import GUIDE, linked


class Tells(Behaviour):
    """Behaviour that reads and writes every minute."""

    async def run(self, device: FleetDevice) -> None:
        written = 0
        while True:
            try:
                await device.write(temperature=20)
                written += 1
                await device.read("temperature")
            except EXCHANGE_ERRORS as error:
                device.note(type(error).__name__)
                if getattr(error, "status", None) == 401:
                    await device.sleep(1)
                    try:
                        await device.activate(anew=True)
                    except EXCHANGE_ERRORS:
                        device.note("stays out")
            device.note(written=written)
            await device.sleep(60)


@story
def shop(lab: Lab, draw: Draw) -> object:
    """Devices of two products with equal identities, two solutions that talk, pushes, and a person who signs in."""
    lab.wait(seconds=5)
    products = [lab.product(name, resources=RESOURCES) for name in ("thermostat", "lamp")]
    lights = lab.solution("lights", products=products)
    lights.publish(operations=[{"name": "light"}])
    lights.on("interface", "light", lambda data: {"level": 1})
    home = lab.solution("home", products=products, services={"Notify": lab.messaging.account})
    home.subscribe(lights, quota={"calls_daily": 1000})
    home.Notify.createBinding(Identity="ann", Endpoint="ann-sms", BindingType="sms", Address="+4930123456")

    def count(data: Any, services: Any) -> None:
        services.Keystore.command(key="n", command="incr")
        services.Keystore.set(key=data["device_sn"], value="1")
        services.Lights.light(level=2)
        if data["device_sn"] == "t-001":
            services.Notify.send(Identity="ann", Body="hot")

    home.on("device", "datapoint", count)
    lights.on("device", "datapoint", lambda data: None)
    fleets = [each.fleet(3, Tells, prefix="t-") for each in products]
    guide = lab.solution("guide", path=GUIDE)
    google = linked(lab, guide, "google", "/social/handle/google")
    seen: list[object] = []

    def sign_in() -> None:
        try:
            seen.append(google.login(guide.url("/social/handle/google/loginurl"), "ann").status_code)
        except (LabkitError, OSError) as error:
            seen.append(type(error).__name__)
        except Exception as error:  # noqa: BLE001  one of httpx
            seen.append(type(error).__name__)

    runs = [each.start(minutes=10) for each in fleets]
    lab.at(30, sign_in)
    for run in runs:
        run.wait()
    return [seen, draw.number(0, 9), *(run.devices().to_csv() for run in runs)]


@story
def meter(lab: Lab, draw: Draw) -> None:
    """A program on lab time, which is a device."""
    lab.product("thermostat", resources=RESOURCES)
    lab.firmware([*device_in_c(), "t-001", "1000"], identity="t-001", ends=True)
    lab.wait(minutes=10)


@story
def chat(lab: Lab, draw: Draw) -> object:
    """Two people with websockets, who say something every ten seconds."""
    acme = lab.solution("acme")
    acme.route("WEBSOCKET", "/rooms/{room}", lua="return websocketInfo.message")
    sockets = [acme.websocket(f"/rooms/{number}") for number in range(2)]
    seen: list[object] = []
    for number in range(10):
        lab.wait(seconds=10)
        for socket in sockets:
            try:
                socket.send(f"{number} é")
                seen.append(socket.messages())
            except LabkitError as error:
                seen.append(type(error).__name__)
    return seen


def story_of(kind: str) -> Story:
    """Return the story that has places of a kind."""
    return meter if kind in GROUPS["programs"] else chat if kind in GROUPS["messages"] else shop


def faults_of(sites: Sites, kind: str) -> Iterator[DrawnFault]:
    """Yield the simplest fault of a kind at each of its places, for all devices."""
    recipe, bounds = {**RECIPES, **ORDERS}[kind], Bounds.of(sites, LEVELS["rough"])
    places = recipe.sites(sites)
    for site in places[:1] if kind in ORDERS else places:
        yield DrawnFault(kind, recipe.settings(Chooser(lambda strategy: 0), site, bounds))


def plays() -> dict[str, dict[str, Any]]:
    """Return the digest and the hits of a play with each kind of fault."""
    sites = {each.name: calm_sites(each, {}) for each in (shop, meter, chat)}
    found = {}
    for kind in sorted(KINDS):
        told = story_of(kind)
        played = play(told, 3, check=False, faults=[*faults_of(sites[told.name], kind)])
        digest = hashlib.sha256(whole(played).encode()).hexdigest()
        found[kind] = {"digest": digest, "hits": [*played.hits]}
    return found


def main() -> None:
    print(json.dumps(plays()))  # noqa: T201


if __name__ == "__main__":
    main()
