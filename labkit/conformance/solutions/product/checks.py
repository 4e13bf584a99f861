"""Product of a solution's services/device2.yaml: what it accepts, who may name it, how it changes and lasts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import Check, check
from labkit.conformance.probe import same
from labkit.conformance.solutions.files.checks_folders import Files, write_folder
from labkit.conformance.target import Target
from labkit.core.errors import LabkitError, SettingsError

if TYPE_CHECKING:
    from labkit.lab.lab import Lab
    from labkit.lab.product import Product
    from labkit.lab.solution import Solution

FILE = "services/device2.yaml"
RESOURCES = (
    "resources:\n  temperature: {format: number, unit: °C}\n  target: {format: number, settable: true%s}\n"
)
PRODUCT: Files = {FILE: RESOURCES % ", allowed: [{min: 5, max: 30}]"}
FORMATS: Mapping[str, tuple[str, str]] = {  # an identity that is valid, and one that is not
    "mac:48": ("02:00:00:00:00:0a", "02-00-00-00-00-0a"),
    "mac-48": ("02-00-00-00-00-0a", "0200.0000.000a"),
    "mac.48": ("0200.0000.000a", "02000000000a"),
    "uuid": ("0a000000-0000-1000-0000-000000000000", "0a00000000001000"),
    "uuidv4": ("0a000000-0000-4000-8000-000000000000", "0a000000-0000-1000-8000-000000000000"),
    "base10": ("10", "a0"),
    "base16": ("a0", "g0"),
    "opaque": ("g 0", ""),
}
WRONG = {
    "resources:\n  a: {format: numbr}\n": "2: resources.a.format: ",
    "resources:\n  a:\n    format: number\n    settable: true\n    initial: warm\n": "2: resources.a: initial: ",
    "\nidentity_format: {type: mac}\nprovisioning:\n  enabled: 1\n": "4: provisioning.enabled: ",
    "provisioning: {ip_whitelisting: {allowed: [here]}}\n": "1: provisioning.ip_whitelisting.allowed[0]: ",
}
PROVISIONING = {  # and whether a device here is refused
    "enabled: false": True,
    "ip_whitelisting: {enabled: true, allowed: [10.0.0.0/8, '::1']}": True,
    "ip_whitelisting: {enabled: true}": True,
    "ip_whitelisting: {enabled: true, allowed: [10.1.2.3, 127.0.0.0/24]}": False,
    "ip_whitelisting: {enabled: false, allowed: [10.1.2.3]}": False,
}
TOLD = (
    "protocol: {name: 'onep:v1/http'}\nresources:\n  a: {format: number, setable: true}\n"
    "provisioning: {expire: 1, enable: true}\n"
)


def in_folder(requirement: str, title: str) -> Callable[[Callable[[Path], None]], Check]:
    """Declare a check that calls a function with a temporary folder; it starts labs of its own."""

    def declare(function: Callable[[Path], None]) -> Check:
        async def checked(target: Target) -> None:
            with tempfile.TemporaryDirectory() as folder:
                await target.in_lab(function, Path(folder))

        checked.__name__, checked.__module__ = function.__name__, function.__module__
        return check(requirement, title, needs={"settings"})(checked)

    return declare


def lab(**settings: Any) -> Lab:
    """Return a lab of its own."""
    from labkit.lab.lab import Lab

    return Lab(1, **settings)


def error(function: Callable[[], object]) -> str:
    """Return the error of a call, empty without one."""
    try:
        function()
    except SettingsError as refused:
        return str(refused)
    return ""


def warned(solution: Solution) -> str:
    """Return the warnings in the log of a solution."""
    logs = solution.logs
    return "\n".join(logs[logs["level"] == "warning"]["text"])


def resources(of: Solution) -> Any:
    """Return the resources of a solution's product, as its scripts see them."""
    return of.Device2.getGatewayResourceList()


def refused(function: Callable[[], object]) -> bool:
    """Return whether a device's request is refused."""
    try:
        function()
    except LabkitError:
        return True
    return False


@in_folder("SOL-PRODUCT-1", "a product that others name, also before it is there")
def made(root: Path) -> None:
    path = str(write_folder(root, "weather", PRODUCT))
    given = [{"id": "app", "products": ["weather"]}, {"id": "weather", "path": path}]
    with lab(solutions=given) as own:
        weather, app, product = own.solution("weather"), own.solution("app"), own.product("weather")
        expect.equal("products", (weather.products, app.products), (("weather",), ("weather",)))
        expect.equal("domain", product.domain, "weather.m2.lab.localhost")
        limits = [{"min": 5.0, "max": 30.0}]
        wanted = {
            "temperature": {"format": "number", "unit": "°C", "settable": False, "allowed": []},
            "target": {"format": "number", "unit": "", "settable": True, "allowed": limits},
        }
        same("resources", resources(app), wanted)
        app.on("device", "datapoint", lua="Keystore.set{key = data.alias, value = data.value[2]}")
        device = product.device("a").activate()
        device.write(temperature=21)
        own.settle()
        same("what another solution handles", app.Keystore.get(key="temperature"), {"value": "21"})
        device.write(humidity=1)
        expect.true("a value that is not allowed is refused", refused(lambda: device.write(target=31)), "")
        expect.equal("what the device reads", device.read("temperature", "target"), {"temperature": "21"})


@in_folder("SOL-PRODUCT-2", "a product that is named gets what its settings leave out")
def given(root: Path) -> None:
    path = write_folder(root, "app", {FILE: f"{RESOURCES % ''}provisioning: {{auth_type: password}}\n"})
    with lab(
        products=[{"id": "bare"}, {"id": "own", "auth": "token", "resources": {"text": "string"}}]
    ) as own:
        for name, auth, aliases in (
            ("bare", "password", ["target", "temperature"]),
            ("own", "token", ["text"]),
        ):
            app = own.solution(f"of-{name}", products=[name], path=path)
            expect.equal("products", app.products, (name,))
            expect.equal("aliases", sorted(resources(app)), aliases)
            expect.equal("auth", own.product(name).settings.auth, auth)
        both = own.solution("both", products=["bare", "own"], path=path)
        expect.true("a solution of several products is warned", FILE in warned(both), warned(both))
        own.product("bare").settings.auth = "certificate"
        own.solution("of-bare").reload()
        expect.equal("auth", own.product("bare").settings.auth, "certificate")


@in_folder("SOL-PRODUCT-3", "files that are wrong, edited and deleted")
def edited(root: Path) -> None:
    with lab(products=[{"id": "taken"}]) as own:
        folder = write_folder(root, "one", PRODUCT)
        found = error(lambda: own.solution("taken", path=folder))
        expect.true("a taken id is refused", FILE in found and "taken" in found.partition(FILE)[2], found)
        solution = own.solution("one", path=folder)
        before = resources(solution)
        for number, (text, wanted) in enumerate(WRONG.items()):
            (folder / FILE).write_text(text)
            new = write_folder(root, f"{number}", {FILE: text})
            for act in (solution.reload, lambda new=new: own.solution("new", path=new)):
                found = error(act)
                expect.true("the error has file and line", f"{FILE}:{wanted}" in found, found)
            same("resources after a refusal", resources(solution), before)
            expect.true(
                "a refused solution has no product", "new.m2.lab.localhost" not in own.hosts, own.hosts
            )
        (folder / FILE).write_text("resources: {text: {format: string}}\n")
        solution.reload()
        expect.equal("aliases after an edit", list(resources(solution)), ["text"])
        (folder / FILE).unlink()
        solution.reload()
        expect.true("a deleted file is a warning", "until a restart" in warned(solution), warned(solution))
        expect.equal("aliases without the file", list(resources(solution)), ["text"])


@in_folder("SOL-PRODUCT-4", "initial values, until there are others")
def initial(root: Path) -> None:
    text = RESOURCES % ", initial: 21.5" + "  flag: {format: boolean, settable: true, initial: false}\n"
    text += "  fixed: {format: string, initial: none}\n"
    with lab() as own:
        solution = own.solution("one", path=write_folder(root, "one", {FILE: text}))
        device = own.product("one").device("a").activate()
        aliases = ("fixed", "flag", "target", "temperature")
        expect.equal("what it reads first", device.read(*aliases), {"flag": "false", "target": "21.5"})
        state = solution.Device2.getIdentityState(identity="a")
        expect.equal(
            "what is set first",
            {name: each.get("set") for name, each in state.items()},
            {"flag": "false", "target": "21.5"},
        )
        solution.Device2.setIdentityState(identity="a", target=7)
        device.write(flag=True)
        expect.equal("what it reads then", device.read(*aliases), {"flag": "true", "target": "7"})


@in_folder("SOL-PRODUCT-5", "identities, authentication and provisioning of a file")
def formats(root: Path) -> None:
    with lab() as own:

        def made(name: str, text: str) -> Product:
            own.solution(name, path=write_folder(root, name, {FILE: text}))
            return own.product(name)

        for number, (kind, (good, bad)) in enumerate(FORMATS.items()):
            product = made(
                f"s{number}",
                f"identity_format: {{type: '{kind}', prefix: 'x', options: {{casing: lower}}}}\n",
            )
            product.device(f"x{good}").activate()
            for wrong in {
                f"x{bad}" if bad else "y",
                good,
                *([f"x{good.upper()}"] if good != good.upper() else []),
            }:
                expect.true(f"{wrong!r} is no {kind}", refused(product.device(wrong).activate), wrong)
        text = "identity_format: {type: base16, options: {length: 4}}\nprovisioning:\n  auth_type: password\n"
        product = made("password", f"{text}  generate_identity: false\n")
        add = own.solution("password").Device2.addIdentity
        expect.true("an unknown identity is refused", refused(product.device("0a0a").activate), "")
        expect.equal("status of one of another length", add(identity="0a").get("status"), 400)
        add(identity="0a0a")
        product.device("0a0a").activate()
        for number, (text, wanted) in enumerate(PROVISIONING.items()):
            device = made(f"p{number}", f"provisioning: {{{text}}}\n").device("a")
            expect.equal(f"is it refused with {text}?", refused(device.activate), wanted)


@in_folder("SOL-PRODUCT-6", "the product of a file over restarts, resets, snapshots")
def lasting(root: Path) -> None:
    path = str(write_folder(root, "one", PRODUCT))
    given = [{"id": "one", "path": path}, {"id": "app", "products": ["one"]}]
    with lab(solutions=given) as own:
        wanted = resources(own.solution("app"))
        snapshot = own.snapshot()
        for act in (own.restart, own.reset, lambda: own.restore(snapshot), own.solution("one").reload):
            act()
            same(f"resources after {act}", resources(own.solution("app")), wanted)
    for value in ("21", "22"):
        with lab(solutions=given, data=root / "lab.db") as own:
            device = own.product("one").device("a")
            if value == "21":
                device.activate()
            own.restart()
            same("resources on a data file", resources(own.solution("app")), wanted)
            own.solution("app").Device2.setIdentityState(identity="a", target=value)
            state = own.solution("one").Device2.getIdentityState(identity="a")
            expect.equal("what is set", state["target"]["set"], value)
    for by_script in (True, False):
        with lab(solutions=given, data=root / "lab.db") as own:
            one = own.solution("one")
            if by_script:
                more = {"resources": {"more": {"format": "number"}}}
                one.Config.setParameters(service="Device2", parameters=more)
            own.restart()
            expect.equal("aliases that a script has set", list(resources(one)), ["more"])
    with lab(solutions=given, data=root / "lab.db") as own:
        own.reset()
        same("resources after a reset", resources(own.solution("one")), wanted)


@in_folder("SOL-PRODUCT-7", "keys without an effect, and unknown ones")
def unused(root: Path) -> None:
    with lab() as own:
        found = warned(own.solution("one", path=write_folder(root, "one", {FILE: TOLD})))
        for wanted in (
            f"{FILE}:1: protocol",
            f"{FILE}:4: provisioning.expire",
            f"{FILE}:3: resources.a.setable: unknown key, ignored; did you mean settable?",
            f"{FILE}:4: provisioning.enable: unknown key, ignored; did you mean enabled?",
        ):
            expect.true(f"{wanted} is told", wanted in found, found)
        expect.equal("aliases", list(resources(own.solution("one"))), ["a"])
