"""Two products with the same identities, aliases and content ids: changes of one do not affect the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.fleet.device import Credentials

if TYPE_CHECKING:
    from labkit.lab.device import Device
    from labkit.lab.lab import Lab
    from labkit.lab.product import Product

PIECES = 14_000  # repetitions of a mark: more bytes than a platform may store in one piece
ONE, OTHER = "d-1", "d-10"  # the name of one is a prefix of the other's
OF_ALL = (
    "activation",
    "a write",
    "a lock",
    "no lock",
    "whitelisting alone",
    "self-registration",
    "a removal",
)
RESOURCES: dict[str, Any] = {
    "text": {"format": "string", "settable": True},
    "texts": "string",
    "level": {"format": "number", "settable": True},
}


class TwinProduct:
    """One of two products, and its devices."""

    def __init__(self, lab: Lab, id: str, auth: Any, mark: str) -> None:
        self.lab, self.mark, self.auth = lab, mark, auth
        self.product: Product = lab.product(id, auth=auth, resources=RESOURCES)
        self.solution = lab.solution(f"{id}s", products=[self.product])
        self.devices: dict[str, Device] = {name: self.product.device(name) for name in (ONE, OTHER)}
        self.received: list[object] = []
        self.solution.on("device", "datapoint", self.store_event)

    def store_event(self, data: Any) -> None:
        """Store an event that the solution received."""
        self.received.append((data["device_sn"], data["alias"], data["value"][1], data["pid"]))

    def each(self, do: Callable[[Device], object]) -> None:
        """Call a function with each device."""
        for device in self.devices.values():
            do(device)

    def view(self) -> dict[str, Any]:
        """Return everything that is visible of the product."""
        self.lab.settle()
        seen: dict[str, Any] = {"received": list(self.received), "devices": self.product.devices().to_dict()}
        for name, device in self.devices.items():
            read = device.request("GET", "/onep:v1/stack/alias?text&texts&level")
            seen[name] = [read.status_code, read.text]
            if read.status_code != 401:
                seen[name] += [device.poll(alias, 0, since=0) for alias in ("text", "texts")]
            state = self.solution.call("Device2", "getIdentity", {"identity": name})
            seen[name].append({key: each for key, each in state.items() if key != "pid"})
        device = self.devices[OTHER]
        if seen[OTHER][0] != 401:
            seen["content"] = {id: (device.content_info(id), device.download(id)) for id in device.content()}
        return seen


def steps(side: TwinProduct) -> list[tuple[str, Callable[[], object]]]:
    """Return the steps that change a product, by title."""
    one, other, mark = side.devices[ONE], side.devices[OTHER], side.mark
    content, product = side.product.content, side.product

    def scripted(operation: str, **given: object) -> None:
        side.solution.call("Device2", operation, given)

    steps: list[tuple[str, Callable[[], object]]] = [
        ("activation", lambda: side.each(lambda device: device.activate())),
        ("a write", lambda: one.write(text=mark, level=len(mark))),
        ("a write of another", lambda: other.write(text=f"{mark} too", texts=mark)),
        ("a record", lambda: one.record({"texts": {1_000_000_000: f"{mark} of the past"}})),
        ("a content", lambda: content.add("a", mark.encode() * 9, "text/plain", mark)),
        ("a content whose id begins alike", lambda: content.add("ab", mark.encode() * PIECES)),
        ("the state set", partial(scripted, "setIdentityState", identity=ONE, text=f"set by {mark}")),
        ("other content", lambda: content.add("a", mark.encode() * 99, "text/html", f"new of {mark}")),
        ("no content", lambda: content.remove("a")),
        ("a lock", lambda: product.lock(ONE)),
        ("no lock", lambda: product.unlock(ONE)),
        ("whitelisting alone", lambda: product.settings.change(self_registration=False)),
        ("a whitelisted one", lambda: product.allow(ONE)),
        ("self-registration", lambda: product.settings.change(self_registration=True)),
        ("other resources", lambda: product.settings.change(resources={**RESOURCES, "level": "string"})),
        ("the same resources", lambda: product.settings.change(resources=RESOURCES)),
        ("a removal", lambda: product.remove(ONE)),
        ("an identity of a script", partial(scripted, "addIdentity", identity="d-2")),
        ("its removal by a script", partial(scripted, "removeIdentity", identity="d-2")),
    ]  # fmt: skip
    if side.auth == "token":
        steps[9:9] = [("new credentials", partial(side.each, _reactivate))]
    return steps


def _reactivate(device: Device) -> None:
    """Activate a device again, with its current credentials."""
    before = device.credentials
    answer = device.request("POST", "/provision/activate", data={"id": device.identity})
    expect.status(answer, 200)
    expect.true("the token is another", answer.text != before.token, "the same")
    device.use(Credentials(token=answer.text))


@check(
    "DEV-TLS-8 DEV-TLS-1 DEV-EVT-3", "two products with the same names, a step at a time", needs={"settings"}
)
async def namesakes(target: Target) -> None:
    await target.in_lab(_namesakes, target)


def _namesakes(target: Target) -> None:
    for auth in ("token", "password", "certificate"):
        name = target.identity().replace("-", "")
        sides = (
            TwinProduct(target.lab, name, auth, "alpha"),
            TwinProduct(target.lab, f"{name}1", auth, "gamma"),
        )
        seen = [side.view() for side in sides]
        for what, _ in steps(sides[0]):
            if auth != "token" and what not in OF_ALL:
                continue
            for at, side in enumerate(sides):
                dict(steps(side))[what]()
                seen[at] = side.view()
                there = sides[1 - at]
                expect.equal(f"the other product after {what}", there.view(), seen[1 - at])
                expect.true(f"nothing of it is here after {what}", there.mark not in repr(seen[at]), seen[at])
            plain = [
                repr(each).replace(side.mark, "§").replace(side.product.id + "'", "§'")
                for side, each in zip(sides, seen, strict=True)
            ]
            expect.equal(f"the two of them after {what}", plain[1], plain[0])
        _expect_refused(sides)


def _expect_refused(sides: tuple[TwinProduct, TwinProduct]) -> None:
    """Raise Mismatch unless the credentials of one product's device are refused at the other."""
    for side, there in (sides, sides[::-1]):
        mine, theirs = side.devices[OTHER], there.devices[OTHER]
        held = theirs.credentials
        before = there.view()
        theirs.use(mine.credentials)
        answer = theirs.request("GET", "/onep:v1/stack/alias?text")
        expect.status(answer, 401)
        theirs.use(held)
        expect.equal("the other product after that", there.view(), before)
