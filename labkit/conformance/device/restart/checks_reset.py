"""Resets of a lab of the check's own: only its settings remain, and the same story has the same results."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.endpoints import READ
from labkit.conformance.target import Target
from labkit.core.errors import LabError
from labkit.fleet.device import Credentials, DeviceError

if TYPE_CHECKING:
    from labkit.lab.lab import Lab

TYPES = ("token", "certificate")
FILES = {
    "modules/started.lua": "Keystore.command{key = 'started', command = 'rpush', args = {'again'}}",
    "endpoints/count.lua": "--#ENDPOINT GET /count\ncount = (count or 0) + 1\nreturn {count, math.random()}",
    "content.txt": "of the settings",
}


@check(
    "DEV-KEEP-5",
    "the same story after each reset of a lab, without devices of the former one",
    needs={"settings"},
)
async def reset(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            file = Path(folder) / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        await target.in_lab(_over_resets, Path(folder))


def _over_resets(folder: Path) -> None:
    from labkit.lab.lab import Lab

    shared: dict[str, Any] = {
        "self_registration": False,
        "identities": ["d-1"],
        "resources": {"text": "string"},
        "content": [{"file": str(folder / "content.txt"), "type": "text/plain"}],
    }
    solution = {"id": "one", "products": [*TYPES], "path": str(folder)}
    products = [{"id": each, "auth": each, **shared} for each in TYPES]
    with Lab(1, products=products, solutions=[solution], data=folder / "lab.db") as lab:
        tell = "Keystore.command{key = 'seq', command = 'rpush', args = {data.seq}}"
        lab.solution("one").on("device", "datapoint", lua=tell)
        first = _story(lab)
        expect.equal("the story after a reset", _story(lab), first)
        _expect_settings_only(lab)


def _story(lab: Lab) -> list[Any]:
    """Return the results of devices and a solution from the start of a lab; then reset it, which must forget all
    devices.
    """
    found: list[Any] = [lab.clock.time]
    solution = lab.solution("one")
    found += [solution.get("/count").json() for _ in range(2)]
    held = []
    for type in TYPES:
        product = lab.product(type)
        product.allow("d-2")
        product.content.add("more", b"of a cell")
        for identity in ("d-1", "d-2"):
            device = product.device(identity).activate()
            found += [device.credentials.token, sorted(device.content()), device.download("content.txt")]
            for value in ("a", "b"):
                device.write(text=value)
            found += [device.read("text")]
            held.append(device.start_poll("text", 300))
    lab.clock.advance(1.5)
    lab.settle()
    listed = {"command": "lrange", "args": [0, -1]}
    found += [solution.Keystore.command(key=each, **listed)["value"] for each in ("started", "seq")]
    kept = {type: lab.product(type).device("d-2").credentials for type in TYPES}
    lab.reset()
    for each in held:
        try:
            answered: object = each.result()
        except (LabError, DeviceError):
            answered = "refused"
        expect.equal("the answer to a poll that a reset met", answered, "refused")
    for type, credentials in kept.items():
        device = lab.product(type).device("d-2").use(credentials)
        response = device.request("GET", READ.path)
        expect.equal(f"status of a {type} of before", response.status_code, 401, response)
        device.use(Credentials())
    return found


def _expect_settings_only(lab: Lab) -> None:
    """Raise Mismatch if the lab has any state beyond its settings."""
    for type in TYPES:
        product = lab.product(type)
        expect.equal("the devices", list(product.devices().index), ["d-1"])
        try:
            product.device("d-2").activate()
            served = True
        except DeviceError:
            served = False
        expect.equal("is an identity provisioned that was allowed before?", served, False)
        device = product.device("d-1").activate()
        expect.equal("what is read", device.read("text"), {})
        expect.equal("the contents", device.content(), ["content.txt"])
    expect.equal("what is kept of an event", lab.solution("one").Keystore.get(key="seq"), {})
