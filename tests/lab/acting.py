"""Story of people and two fleets acting at the same time, for tests of exact replay; as a script it prints digests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from labkit import Lab, LabError
from labkit.lab.product import Product
from labkit.lab.solution import Solution
from tests.lab.story_parts import Listens, Reports, counting, digest, product_of

ALIAS = "/onep:v1/stack/alias"


def solutions(lab: Lab, products: list[Product], seen: list[object]) -> tuple[Solution, Solution]:
    """Return two solutions whose handlers run in threads and on the loop, and ask each other's routes."""
    app = counting(lab, *products)
    other = lab.solution("other", products=products[:1])

    def ask(data: Any) -> None:
        if data["alias"] == "message":
            seen.append(("handler", other.get("/incremented").text, lab.clock.time))

    lab.solution("asking", products=products).on("device", "datapoint", ask)

    async def increment(services: Any) -> None:
        await services.Keystore.command(key="count", command="incr")

    other.on("device", "datapoint", increment)

    def incremented(services: Any) -> object:
        return services.Keystore.get(key="count")

    other.route("GET", "/incremented", incremented)

    def configure(request: Any, services: Any) -> object:
        given = request.body
        return services.Device2.setIdentityState(
            pid="lamp", identity=given["identity"], config=given["value"]
        )

    app.route("POST", "/config", configure)

    return app, other


def add_faults(lab: Lab) -> None:
    lab.faults.add("Keystore.get", delay=3, chance=0.3)
    lab.faults.add("Keystore.*", delay=1, chance=0.3)
    lab.faults.add(f"POST {ALIAS}", delay=7, chance=0.1)
    lab.faults.add(f"GET {ALIAS}", delay=2, when="after", chance=0.1)
    lab.faults.add("device datapoint", late=20, chance=0.1)


def attempt(seen: list[object], act: Callable[[], object]) -> None:
    """Append the result of a call, or its error, which a restart causes."""
    try:
        seen.append(act())
    except Exception as error:  # noqa: BLE001  the story continues, and compares errors, too
        seen.append(type(error).__name__)


def play(seed: int, restart: bool = True) -> dict[str, str]:
    """Play the story, and return all of its results that a seed reproduces."""
    seen: list[object] = []
    with Lab(seed=seed, journal={"records": 1_000_000}) as lab:
        products = [product_of(lab, name) for name in ("thermostat", "lamp")]
        reports, listens = Reports(60, 60, 90), Listens(answers=True)
        app, _ = solutions(lab, products, seen)
        add_faults(lab)
        first, second = (
            products[0].fleet({reports: 8, listens: 4}),
            products[1].fleet({listens: 6, reports: 3}),
        )
        devices = [products[0].device(f"d{number}").activate() for number in range(3)]
        # A handle that polls as a device of a fleet, while that polls, too.
        twin = (
            products[1].device("twin").use(products[1].credential_store.get(second.identities[0]) or fail())
        )
        browser = lab.browser()
        with lab.story():
            run, other = first.start(minutes=15, requests=True), second.start(minutes=10)

            def write() -> None:
                devices[0].write(temperature=1)
                lab.wait(seconds=40)
                attempt(seen, lambda: ("at", app.get("/count").text, lab.clock.time))

            lab.at(100, write)
            lab.at(100, lambda: attempt(seen, lambda: devices[1].poll("config", timeout=100)))
            lab.at(150, lambda: devices[1].write(config="x"))
            if restart:
                lab.at(400, lambda: lab.restart(down=70))
            begun = lab.begin(app.get, "/count")
            held = devices[2].start_poll("config", timeout=300)
            for turn in range(12):
                lab.wait(seconds=60)
                identity = second.identities[turn % 4]
                given = {"identity": identity, "value": str(turn)}
                attempt(seen, lambda given=given: app.post("/config", json=given).text)  # type: ignore[misc]
                attempt(seen, lambda: app.Keystore.get(key="count"))
                attempt(seen, lambda: browser.get(app.url("/count")).text)
                if turn % 3 == 0:
                    attempt(seen, lambda: twin.poll("config", timeout=20))
                seen.append(lab.clock.time)
            seen.append(begun.result().text)
            attempt(seen, held.result)
            run.wait()
            other.wait()
        return {
            "journal": lab.journal.canonical(),
            "seen": repr(seen),
            "requests": run.requests().to_csv(),
            "devices": other.devices().to_csv(),
        }


def fail() -> Any:
    raise LabError("the fleet's device has no credentials")


def digests(results: dict[str, str]) -> dict[str, str]:
    return {name: digest(text) for name, text in results.items()}


def main() -> None:
    print(json.dumps(digests(play(int(sys.argv[1])))))  # noqa: T201


if __name__ == "__main__":
    main()
