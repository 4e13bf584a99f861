"""Persistence of devices: data after a restart, retention of datapoints, and locked or removed devices.

The checks restart and configure labs of their own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, endpoints, expect
from labkit.conformance.check import check
from labkit.conformance.endpoints import READ, WRITE
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.lab.device import Device
    from labkit.lab.lab import Lab

KEPT = 100
MANY = 30  # values of an alias written in the first and third start of a lab; the second one writes one
PAST = 600  # further values, recorded in the second start
TYPES = ("token", "password", "certificate")


def own_lab(**settings: Any) -> Lab:
    """Return a lab with a product of each type."""
    resources = {"text": "string", "other": "string", "zone": "string"}
    products = [{"id": each, "auth": each, "resources": resources} for each in TYPES]
    return _lab(products=products, **settings)


def _lab(**settings: Any) -> Lab:
    from labkit.lab.lab import Lab

    return Lab(1, passwords={"memory": 8, "passes": 1}, **settings)


@check(
    "DEV-KEEP-1 DEV-KEEP-2",
    "credentials, values, contents and seq over two restarts on a data file",
    needs={"settings"},
)
async def restarted(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_over_restarts, Path(folder) / "lab.db")


def _over_restarts(file: Path) -> None:
    content, last, before = bytes(range(256)) * 600, "", 0
    held: dict[str, Any] = {}
    for start, many in enumerate((MANY, 1, MANY)):
        with own_lab(data=file) as lab:
            devices = {each: lab.product(each).device("d-1") for each in TYPES}
            if start:
                for each, device in devices.items():
                    device.use(held[each])
                    expect.equal(
                        f"what is read on {each} after a restart", device.read("text"), {"text": last}
                    )
                    expect.equal(
                        f"what was recorded ahead on {each}", device.read("other"), {"other": "ahead"}
                    )
                    stranger = lab.product(each).device(f"d-2 of start {start}")
                    response = stranger.request("GET", READ.path, credentials=False)
                    expect.equal("status without credentials", response.status_code, 401)
                downloaded = devices["token"].download("large")
                expect.true("the content is as before", downloaded == content, len(downloaded))
            else:
                lab.product("token").content.add("large", content)
                held = {each: device.activate().credentials for each, device in devices.items()}
            _ahead(lab, devices)
            last = f"{many - 1} of start {start}"
            past = PAST if start == 1 else 0
            counted = _written(lab, devices, [f"{number} of start {start}" for number in range(many)], past)
            wanted = [*range(counted[0], counted[0] + many + past)]
            expect.equal("seq of an alias's datapoints", counted, wanted)
            expect.true("seq goes on above those before", counted[0] > before, counted[0])
            expect.equal("the first seq of all is 1", before or counted[0], before or 1)
            before = counted[-1]
            _ahead(lab, devices)  # once more, so that the next start follows many values


def _ahead(lab: Lab, devices: dict[str, Device]) -> None:
    """Raise Mismatch unless a read returns the last of several values of one second, in every start."""
    for device in devices.values():
        device.write(other="now")
        expect.equal("what is read after a write", device.read("other"), {"other": "now"})
        later = int(lab.clock.time) + 50
        device.record({"other": {later: "ahead"}})
        expect.equal("what is read after a record", device.read("other"), {"other": "ahead"})


def _written(lab: Lab, devices: dict[str, Device], values: list[str], past: int) -> list[int]:
    """Write values within one second, and record `past` older ones; return the seq of the token device's datapoints."""
    received: list[Any] = []

    def note(data: Any) -> None:
        if data["alias"] == "text":
            received.append(data["seq"])

    solution = lab.solution("told", products=[lab.product("token")])
    solution.on("device", "datapoint", note)
    for value in values:
        for device in devices.values():
            device.write(text=value)
            expect.equal("what is read after a write", device.read("text"), {"text": value})
    if past:
        begun = lab.clock.time - 2 * past
        devices["token"].record({"text": {begun + number: "of the past" for number in range(past)}})
    lab.settle()
    return received


@check(
    "DEV-KEEP-6",
    "a value that a poll received before a restart does not answer again after it",
    needs={"settings"},
)
async def given(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_polled, Path(folder) / "lab.db")


def _polled(file: Path) -> None:
    held: dict[str, Any] = {}
    begun = 0
    for start in range(2):
        with own_lab(data=file) as lab:
            devices = {each: lab.product(each).device("d-1") for each in TYPES}
            if start == 0:
                held = {each: device.activate().credentials for each, device in devices.items()}
                begun = int(lab.clock.time)
            for type, device in devices.items():
                device.use(held[type])
                if start == 0:
                    for alias in ("text", "other"):
                        device.write({alias: "first"})
                        expect.equal("what a poll is given", device.poll(alias, 0, since=begun), "first")
                        expect.equal("what the next one is", device.poll(alias, 0, since=begun), None)
            lab.clock.advance(2)
            for device in devices.values():
                if start == 0:
                    device.write(text="second")
                else:
                    expect.equal("what a poll is given", device.poll("text", 0, since=begun), "second")


@check("DEV-KEEP-1", "contents of the settings, unchanged and changed, after a restart", needs={"settings"})
async def contents(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_contents, Path(folder))


def _contents(folder: Path) -> None:
    same, other, empty = (folder / each for each in ("same", "other", "empty"))
    for each, data in ((same, b"the same"), (other, b"before"), (empty, b"")):
        each.write_bytes(data)
    offered = [{"file": str(each), "type": "text/plain"} for each in (same, other, empty)]
    settings: dict[str, Any] = {"products": [{"id": "token", "content": offered}], "data": folder / "lab.db"}
    with _lab(**settings) as lab:
        lab.clock.advance(10)
        for each in (same, other):  # added again, so that the time of the change is known
            lab.product("token").content.add(each.name, each.read_bytes(), "text/plain", "anew")
        device = lab.product("token").device("d-1").activate()
        before = {each.name: device.content_info(each.name) for each in (same, other)}
        expect.equal("contents", sorted(device.content()), ["empty", "other", "same"])
    other.write_bytes(b"after")
    with _lab(**settings) as lab:
        device = lab.product("token").device("d-2").activate()
        expect.equal("info of what is as before", device.content_info(same.name), before[same.name])
        expect.true("info of what is not", device.content_info(other.name) != before[other.name], before)
        for each in (same, other, empty):
            expect.equal(f"the bytes of {each.name}", device.download(each.name), each.read_bytes())


@check("DEV-KEEP-3", "the newest datapoints are kept, as many as the settings say", needs={"settings"})
async def newest(target: Target) -> None:
    await target.in_lab(_newest)


def _newest() -> None:
    with own_lab(datapoints={"kept": KEPT}) as lab:
        first = int(lab.clock.time) - 1000
        others = [
            lab.product(product).device(name).activate()
            for product, name in (("password", f"d-{KEPT}"), ("token", "ü %"), ("token", f"D-{KEPT}"))
        ]
        for each in others:
            each.record({"text": {first - 1000: "the only one"}})
        for count in (KEPT, 3 * KEPT):
            device = lab.product("token").device(f"d-{count}").activate()
            for alias in ("other", "zone"):
                device.record({alias: {first - 1000: "the only one"}})
            for number in range(count):
                device.record({"text": {first + number: f"point {number}"}})
            for alias in ("other", "zone"):
                oldest = device.poll(alias, 0, since=first - 2000)
                expect.equal("the oldest of another alias", oldest, "the only one")
            oldest = device.poll("text", 0, since=first - 1)
            expect.true("there is an oldest point", oldest is not None, oldest)
            number = int(str(oldest).split()[-1])
            kept = count - number
            expect.true(
                f"{KEPT} to {KEPT * 11 // 10} of {count} are kept", KEPT <= kept <= KEPT * 11 // 10, kept
            )
            expect.equal("what is read", device.read("text"), {"text": f"point {count - 1}"})
        for each in others:  # the limit holds for each alias of each device separately
            expect.equal(
                "the oldest of another device", each.poll("text", 0, since=first - 2000), "the only one"
            )


@check(
    "DEV-KEEP-4",
    "a device is locked, unlocked, removed, and its namesake and neighbours are not",
    needs={"settings"},
)
async def removed(target: Target) -> None:
    identity = f"{target.identity()}-5"
    one, other = target.device("token-open", identity), target.device("token-other", identity)
    names = (f"{identity[:-1]}4", f"{identity}0", identity.upper())  # sorted before and after it
    neighbours = [target.device("token-open", each) for each in names]
    for each in (one, other, *neighbours):
        await each.activate()
        expect.status(await device_client.write(each, {"text": "before"}), 204)
    product = target.lab.product("token-open")
    for change, status in ((product.lock, 401), (product.unlock, 200), (product.remove, 401)):
        await target.in_lab(change, identity)
        expect.status(await READ.send_from(one), status)
        known = (await target.in_lab(product.devices)).index
        for each in (other, *neighbours):
            expect.status(await READ.send_from(each), 200)
            expect.true(f"{each.identity} is known", each is other or each.identity in known, sorted(known))
    expect.status(await WRITE.send_from(one), 401)
    expect.equal("its namesake's value", await device_client.stored(other, "text"), {"text": "before"})
    listed = target.identity()
    await target.in_lab(product.allow, listed)
    for change, status in ((product.lock, 401), (product.unlock, 200), (product.lock, 401)):
        await target.in_lab(change, listed)
        expect.status(await endpoints.activate(target.client("token-open"), {"id": listed}), status)
        if status == 200:
            await target.in_lab(product.remove, listed)
            await target.in_lab(product.allow, listed)
    await target.in_lab(product.allow, identity)
    for change in (product.lock, product.remove):  # a removal ends the lock too
        await target.in_lab(change, identity)
    one = target.device("token-open", identity)
    expect.status(await endpoints.activate(one, {"id": identity}), 200)
    await target.in_lab(product.remove, identity)
    one = target.device("token-open", identity)
    await one.activate()
    expect.equal("what it finds", await device_client.stored(one, "text"), {"text": "before"})
    await endpoints.expect_refused(
        target.client("token-other"), 401, headers=[("X-Platform-CIK", one.token or "")]
    )


@check(
    "DEV-KEEP-4",
    "a locked identity gets no credentials, neither first nor new ones",
    needs={"settings"},
)
async def locked_out(target: Target) -> None:
    for id in ("token-open", "password-open", "token-closed", "password-closed"):
        product = target.lab.product(id)
        fresh, old = target.device(id), target.device(id)
        for each in (fresh, old):
            await target.in_lab(product.allow, each.identity)
        await old.activate()
        for each in (fresh, old):
            await target.in_lab(product.lock, each.identity)
        fields = {"id": fresh.identity, "password": "x" * 20}
        expect.refusal(await endpoints.activate(target.client(id), fields), 401)
        expect.refusal(await endpoints.activate(old, {"id": old.identity, "password": "x" * 20}), 401)
        for each in (fresh, old):
            await target.in_lab(product.unlock, each.identity)
        expect.status(await READ.send_from(old), 204)
        await fresh.activate()
