"""Event handlers of solutions: how they are found, their arguments, and what they share with routes.

events.py checks that they run, their order, and the solutions that receive an event.
"""

from __future__ import annotations

import base64
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, WITNESS, Probe, Table, events_of, same
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.core.errors import LabWarning, SettingsError
from labkit.fleet.device import VirtualDevice

if TYPE_CHECKING:
    from labkit.control.journal import Entry

# products, by the way that their handlers are named
TWO_WORDS, BY_WORD, BY_FILE = "token-open", "by-word", "by-file"
CONTEXT = ("solution_id", "service", "event", "script_key", "tracking_id")


@check("SOL-EVT-1", "a handler is found by two words, by one word, or by the name of its file")
async def found(target: Target) -> None:
    for product, count, handlers in (
        (TWO_WORDS, 3, ["event", "datapoint", "event"]),
        (BY_WORD, 3, ["by word, of the request", "by word", "by word, of the request"]),
        (BY_FILE, 3, ["event", "by file", "event"]),
    ):
        device = await target.activated(product)
        expect.status(await device_client.write(device, {"text": "a"}), 204)
        events = await events_of(target, device.identity, count)
        same(f"handlers of {product}", sorted(each["handler"] for each in events), sorted(handlers))


@check("SOL-EVT-2", "the body of a handler is a function that a route can call")
async def function(target: Target) -> None:
    identity = target.identity()
    data = {"device_sn": identity, "alias": "text", "value": [1, "called by a route"], "more": {"a": []}}
    expect.status(await Probe(target).request("POST", "/scripts/handler", json=data), 200)
    events = await events_of(target, identity, 1)
    same("the events that the handler received", events, [{"handler": "datapoint", "event": data}])


@check("SOL-EVT-3", "a handler finds data or event, and context")
async def arguments(target: Target) -> None:
    device = await target.activated(BY_WORD)
    expect.status(await device_client.write(device, {"text": "a"}), 204)
    expect.status(await device_client.write(device, {"text": "b"}), 204)
    events = await events_of(target, device.identity, 5)
    points = _events_of_handler(events, "by word")
    requests = _events_of_handler(events, "by word, of the request")
    texts = [each["event"].get("value", [None, None])[1] for each in points]
    same("data.value of the datapoints", texts, ["a", "b"])
    kinds = [each["event"].get("type") for each in requests]
    same("event.type of the others", kinds, ["provisioned", "data_in", "data_in"])
    for each, event in [*((each, "datapoint") for each in points), *((each, "event") for each in requests)]:
        context = each.get("context", {})
        texts = [name for name in CONTEXT if isinstance(context.get(name), str) and context[name]]
        same("texts in context", texts, list(CONTEXT))
        named = {name: context[name] for name in ("solution_id", "event")}
        same("solution_id and event", named, {"solution_id": PROBE, "event": event})
    tracked = {each["context"]["tracking_id"] for each in (*points, *requests)}
    expect.equal("different tracking_id of five runs", len(tracked), 5)


@check("SOL-EVT-4", "an event without a handler runs nothing, and is no error", needs={"settings", "journal"})
async def without_handler(target: Target) -> None:
    name, lab = target.identity(), target.lab
    failed = len(await target.in_lab(lab.journal.select, "error"))
    product = await target.in_lab(lab.product, name, resources={"text": "string"})
    solution = await target.in_lab(lab.solution, name, products=[product])
    device = await target.in_lab(product.device(name).activate)
    await target.in_lab(device.write, text="unheard")
    await target.in_lab(solution.on, "device", "datapoint", lua="return data.value[2]")
    await target.in_lab(device.write, text="heard")
    await target.settle()
    records: list[Entry] = await target.in_lab(lambda: [each for each in lab.journal if each.actor == name])
    runs = [(each.kind, each.summary, each.status) for each in records]
    expect.equal("what the solution did", runs, [("script", "device datapoint", 200)])
    errors = await target.in_lab(lab.journal.select, "error")
    expect.equal("errors of the platform", errors[failed:], [])


@check("SOL-EVT-7", "the names of a handler's arguments", needs={"settings"})
async def own_names(target: Target) -> None:
    await target.in_lab(_own_names, target)


def _own_names(target: Target) -> None:
    lab, name = target.lab, f"z-{target.identity()}"
    product = lab.product(name, resources={"text": "string"})
    for service, event, of_device in (
        (name, "datapoint", False),
        ("{product.id}", "datapoint", False),
        ("device2", "datapoint", False),
        ("device", "datapoint", False),
        (name, "event", True),
        ("device", "event", True),
        ("config", "fallback", False),
    ):
        id = target.identity()
        solution = lab.solution(id, products=[product])
        handled = "Keystore.command{key = 'seen', command = 'rpush', args = {context.service .. ' ' .. context.event}}"
        solution.on(service, event, lua=handled)
        product.device(id).activate().write(text="x")
        lab.settle()
        seen = solution.Keystore.command(key="seen", command="lrange", args=[0, -1])["value"]
        wanted = [f"{service} {event}"] * (2 if of_device else 1)
        if service == "config":
            wanted = ["device2 event", "device2 event", "device datapoint"]
        expect.equal(f"context of a handler of {service} {event}", sorted(seen), sorted(wanted))


@check(
    "SOL-EVT-8",
    "the most specific of several handlers runs, and a newer one replaces it",
    needs={"settings"},
)
async def best(target: Target) -> None:
    await target.in_lab(_best, target)


def _best(target: Target) -> None:
    lab, name = target.lab, f"z-{target.identity()}"
    product, seen = lab.product(name, resources={"text": "string"}), list[str]()
    solution = lab.solution(name, products=[product])
    device = product.device(name).activate()
    tell = "Keystore.command{key = 'told', command = 'rpush', args = {'%s'}}"

    def handled() -> list[str]:
        device.write(text="x")
        lab.settle()
        found: list[str] = solution.Keystore.command(key="told", command="lrange", args=[0, -1])["value"]
        return found

    for event, services in (
        ("datapoint", ("device2", "device", "{product.id}", name)),
        ("event", ("device", "device2", "{product.id}", name)),
    ):
        for number, service in enumerate(services, 1):  # each takes precedence over the existing ones
            solution.on(service, event, lambda event: seen.append("the function before"))
            solution.on(service, event, lua=tell % "the script before", replace=True)
            named = service.title() if service == "device" else service
            solution.on(named, event, lua=tell % service, replace=True)
            expect.equal(f"handlers of {event} that ran, in order", handled(), [*services[:number]])
        solution.on(name, event, lambda event: seen.append("a function"), replace=True)
        expect.equal("scripts that ran then", handled(), [*services])
        expect.equal("functions that ran", seen, ["a function"])
        solution.on(name, event, lambda event: None, replace=True)
        seen.clear()
        solution.Keystore.delete(key="told")


@check("SOL-EVT-9", "another handler is an error and changes nothing, the same one is taken anew",
       needs={"settings"})  # fmt: skip
async def replaced(target: Target) -> None:
    await target.in_lab(_replaced, target)


def _replaced(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for file, text in (
            ("endpoints/a.lua", "--#ENDPOINT GET /a/{b}\nreturn 'of the folder'"),
            ("services/interface_ping.lua", "return 'of the folder'"),
        ):
            Path(folder, file).parent.mkdir()
            Path(folder, file).write_text(text)
        published = {"Interface": {"operations": [{"name": "ping"}]}}
        own, other = (target.identity().replace("-", "") for _ in range(2))
        solution = target.lab.solution(own, path=folder, services=published)
        home = target.lab.solution(other)
        home.subscribe(solution, script_key="bell")
        for add, call in (
            (partial(solution.route, "GET", "/a/{c}"), lambda: solution.get("/a/x").text),
            (partial(solution.on, "interface", "ping"), lambda: home.call("Bell", "ping")),
        ):
            _replace_handlers(add, call)
        solution.reload()
        expect.equal("after a reload", solution.get("/a/x").text, "named, anew")


def _replace_handlers(add: Callable[..., object], call: Callable[[], object]) -> None:
    """Replace a handler several times; only a function of the same name may do so without replace=True."""

    def named(text: str) -> Callable[[], str]:
        def handler() -> str:
            return text

        return handler

    before = "of the folder"
    for given, text in (
        ({"lua": "return 'a script'"}, "a script"),
        ({"function": lambda: "a lambda"}, "a lambda"),
        ({"function": lambda: "another lambda"}, "another lambda"),
        ({"lua": "return 'a script'"}, "a script"),
        ({"function": named("named")}, "named"),
    ):
        try:
            add(**given)
        except SettingsError as error:
            expect.true("the error says what to do", "replace=True" in str(error), str(error))
        else:
            raise Mismatch("another handler", f"that {text} is refused", "it was taken")
        expect.equal("after the refusal", call(), before)
        _expect_accepted(text, partial(add, **given, replace=True))
        _expect_accepted(f"{text}, from a cell that runs again", partial(add, **given))
        expect.equal("once it was to be replaced", call(), text)
        before = text
    _expect_accepted("a function of the same name", partial(add, function=named("named, anew")))
    expect.equal("after another function of the same name", call(), "named, anew")


def _expect_accepted(what: str, add: Callable[[], object]) -> None:
    try:
        add()
    except SettingsError as error:
        raise Mismatch("a handler", f"that {what} is taken", str(error)) from None


@check("SOL-EVT-6", "an event that is handled twice, in one folder and in two", needs={"settings"})
async def twice(target: Target) -> None:
    await target.in_lab(_twice, target)


def _twice(target: Target) -> None:
    with tempfile.TemporaryDirectory() as root:
        one, two = Path(root) / "one", Path(root) / "two"
        for folder in (one, two):
            (folder / "services").mkdir(parents=True)
        (one / "services" / "a.lua").write_text("--#EVENT scripts said\n" + _setting("first"))
        second = two / "services" / "b.lua"
        second.write_text("--#EVENT timer timer\nreturn 2\n--#EVENT Scripts said\n" + _setting("second"))
        places = ("services/a.lua", "services/b.lua:3")
        id = target.identity()
        try:
            target.lab.solution(id, path=[str(one), str(two)])
            message = ""
        except SettingsError as error:
            message = str(error)
        for place in places:
            expect.true(f"the error of two folders names {place}", place in message, message)
        (one / "services" / "b.lua").write_text(second.read_text())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabWarning)  # which `files` has, too
            solution = target.lab.solution(id, path=str(one))
        text = solution.files["problems"]["services/a.lua"]
        expect.true("the problem of the first handler names the second", places[1] in text, text)
        solution.Scripts.trigger(event="said", data={})
        target.lab.settle()
        ran = [key for key in ("first", "second") if solution.Keystore.get(key=key)]
        expect.equal("the handlers that ran", ran, ["second"])


def _setting(key: str) -> str:
    return f"Keystore.set{{key = '{key}', value = 'ran'}}\n"


@check("SOL-EVT-5", "modules are there for handlers and routes, by require and by their globals")
async def modules(target: Target) -> None:
    probe = Probe(target)
    found = await probe.ask("GET", "/scripts/modules")
    probe.same("what the route finds", found, _greetings("route"))
    device = await _device_with_value(target, BY_WORD)
    (point,) = _events_of_handler(await events_of(target, device.identity, 3), "by word")
    same("what the handler finds", {name: point.get(name) for name in found}, _greetings("handler"))


def _greetings(who: str) -> Table:
    return {"required": f"a greeting for the {who}", "global": f"a greeting of all for the {who}"}


def _events_of_handler(events: list[Table], handler: str) -> list[Any]:
    return [each["event"] for each in events if each["handler"] == handler]


async def _device_with_value(target: Target, product: str) -> VirtualDevice:
    device = await target.activated(product)
    expect.status(await device_client.write(device, {"text": "a"}), 204)
    return device


@check("SOL-EVT-10", "random bytes and base64 of the platform's module")
async def mcrypto(target: Target) -> None:
    seen: list[str] = []
    for solution in (PROBE, WITNESS):
        probe = Probe(target, solution)
        for text in ("", "a", "ab", "abc", "é😀\0", "??>>", "x" * 10_000):
            for count in (0, 1, 16):
                found = await probe.ask("POST", "/scripts/mcrypto", json={"text": text, "count": count})
                wanted = base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()
                probe.same(f"{text[:9]!r} encoded", found.get("encoded"), wanted)
                probe.same("number of bytes", found.get("length"), count)
                seen += [found["random"]] if count == 16 else []
        found = await probe.ask("POST", "/scripts/mcrypto", json={"text": "", "count": 65_536})
        probe.same("number of bytes", [found["length"], len(found["random"])], [65_536, 87_382])
        for wrong in (65_537, -1, 1.5, "x", [1]):
            expect.status(
                await probe.request("POST", "/scripts/mcrypto", json={"text": "", "count": wrong}), 500
            )
    expect.equal("different random bytes", len(set(seen)), len(seen))
