"""Smaller services: configuration, mail, and functions that replace a service."""

from __future__ import annotations

import asyncio
import datetime
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit import Caller
from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, WITNESS, Service, same
from labkit.conformance.target import Target
from labkit.core.errors import LabError, ServiceError

if TYPE_CHECKING:
    from labkit.lab.solution import Solution

DEEPEST = 100  # nested tables in a result


@check("SOL-SVC-1", "Config shows a solution's own data and the services that it can call")
async def itself(target: Target) -> None:
    for solution, products in ((PROBE, 7), (WITNESS, 1), ("guide", 0)):
        config = Service(target, "Config", solution)
        found = await config.done("solution")
        url = target.url(solution, "").removeprefix("https://").rstrip("/")
        given = {name: found.get(name) for name in ("id", "name", "domain")}
        config.same("id, name and domain", given, {"id": solution, "name": solution, "domain": url})
        expect.equal("number of its products", len(found.get("products") or ()), products, config.last)
    config = Service(target, "Config", WITNESS)
    listed = await config.call("Config", "listServices", {})
    everything = [(each["type"], each["service"]) for each in listed[1]]
    for each in ("Keystore", "User", "Config", "Notify", "Email"):
        expect.true(f"{each} is listed as core", ("core", each) in everything, everything)
    for kind in ("core", "product", "application"):
        _, some = await config.call("Config", "listServices", {"type": kind})
        of_kind = [[each["type"], each["service"]] for each in some]
        config.same(f"those of type {kind}", of_kind, [[*each] for each in everything if each[0] == kind])
    config.same("its products", [name for kind, name in everything if kind == "product"], ["token-other"])


@check(
    "SOL-SVC-2", "parameters that scripts set, one after the other and in two solutions", needs={"settings"}
)
async def parameters(target: Target) -> None:
    one = await target.in_lab(target.lab.solution, target.identity(), services={"Keystore": {"a": 1}})
    other = await target.in_lab(target.lab.solution, target.identity())
    await target.in_lab(_parameters, one, other)


def _parameters(one: Solution, other: Solution) -> None:
    for service, given, wanted in (
        ("Keystore", {"b": [2, {"c": "d"}]}, {"a": 1, "b": [2, {"c": "d"}]}),
        ("keystore", {"e": "f"}, {"a": 1, "b": [2, {"c": "d"}], "e": "f"}),
        ("KEYSTORE", {"b": False}, {"a": 1, "b": False, "e": "f"}),
        ("Keystore", {}, {"a": 1, "b": False, "e": "f"}),
    ):
        set_ = one.Config.setParameters(service=service, parameters=given)
        same("what setParameters gives", set_, {"parameters": wanted})
        same("what getParameters gives", one.Config.getParameters(service=service), {"parameters": wanted})
        found = other.Config.getParameters(service=service)
        same("what it gives another solution", found, {"parameters": {}})
    for found in (
        one.Config.getParameters(service="Nonsense"),
        one.Config.setParameters(service="Nonsense", parameters={}),
    ):
        same("status for an unknown service", found.get("status"), 404)
    large = one.Config.setParameters(service="Keystore", parameters={"large": "x" * 70_000})
    same("status of more than may be held", large.get("status"), 400)
    found = one.Config.getParameters(service="Keystore")
    same("what is there then", found, {"parameters": {"a": 1, "b": False, "e": "f"}})


@check("SOL-SVC-2", "parameters that scripts set, after restarts on a data file", needs={"settings"})
async def kept_parameters(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_over_restarts, Path(folder) / "lab.db")


def _over_restarts(file: Path) -> None:
    from labkit.lab.lab import Lab

    settings = [
        {"id": "one", "services": {"Keystore": {"a": 1, "b": 2}}},
        {"id": "other", "services": {"Keystore": {"a": 1}}},
    ]
    wanted: dict[str, Any] = {"a": 1, "b": 2}
    for given in ({"b": 3}, {"c": 4}, {}):
        with Lab(1, data=file, solutions=settings) as lab:
            found = lab.solution("one").Config.getParameters(service="Keystore")
            same("after a restart", found, {"parameters": wanted})
            wanted |= given
            found = lab.solution("one").Config.setParameters(service="Keystore", parameters=given)
            same("what setParameters gives", found, {"parameters": wanted})
            lab.restart()
            found = lab.solution("one").Config.getParameters(service="Keystore")
            same("after a restart of the platform", found, {"parameters": wanted})
            found = lab.solution("other").Config.getParameters(service="Keystore")
            same("those of another solution", found, {"parameters": {"a": 1}})


# ---- mail


@check("SOL-SVC-3", "recipients, sender and content of a mail", needs={"mailbox"})
async def mails(target: Target) -> None:
    email, name = Service(target, "Email"), target.identity()
    domain = target.url(PROBE, "").removeprefix("https://").partition(":")[0].rstrip("/")
    ann, bob, eve = (f"{each}.{name}@example.com" for each in ("ann", "bob", "eve"))
    for given, sender, recipients in (
        ({"to": ann}, f"noreply@{domain}", [ann]),
        ({"to": [ann, bob], "cc": eve}, f"noreply@{domain}", [ann, bob, eve]),
        ({"to": ann, "cc": [bob], "bcc": [eve]}, f"noreply@{domain}", [ann, bob, eve]),
        ({"to": f"Ann <{ann}>", "from": "it@example.com"}, "it@example.com", [f"Ann <{ann}>"]),
        ({"to": ann, "from": f"it@{domain}:8443"}, f"it@{domain}", [ann]),
        ({"to": ann, "from": f"It <it@{domain}:443>"}, f"It <it@{domain}>", [ann]),
    ):
        subject = target.identity().ljust(998, "x")  # as many characters as there may be
        await email.done("send", subject=subject, text="té\n xt", html="<p>é</p>", **given)
        found = await target.in_lab(target.lab.mailbox.find, subject=subject)
        seen = [(each.sender, [*each.recipients], each.text, each.html, each.solution) for each in found]
        expect.equal("the mail", seen, [(sender, recipients, "té\n xt", "<p>é</p>", PROBE)], email.last)
        for kind in ("to", "cc", "bcc"):
            named = given.get(kind, [])
            wanted = [named] if isinstance(named, str) else [*named]
            expect.equal(kind, [[*getattr(each, kind)] for each in found], [wanted], email.last)
    before = len(target.lab.mailbox)
    wrong: dict[str, Any]
    for wrong in (
        {"to": "nobody"},
        {"to": []},
        {"to": [ann, "a b@example.com"]},
        {"to": f"{ann}:1"},
        {"to": ann, "subject": "one\ntwo"},
        {"to": ann, "subject": "x" * 999},
        {"to": ann, "from": "it@example.com:port"},
        {"to": ann, "from": "it:1@example.com"},
        {"to": ann, "cc": "@example.com"},
    ):
        await email.refused("send", 400, **{"subject": name, "text": "text", **wrong})
    expect.equal("mails of those", len(target.lab.mailbox), before, email.last)


# ---- functions that replace a service


@dataclass
class Parcel:
    """A record that a function returns."""

    weight: float
    sent: datetime.date


def greet(name: str, times: int = 1, *, by: Caller) -> dict[str, Any]:
    return {"text": " ".join([name] * times), "by": by.solution}


async def parcel(count: int) -> Any:
    await asyncio.sleep(0)
    one = Parcel(2.5, datetime.date(2026, 1, 2))
    return {"all": tuple([one] * count), "named": {1: (True, None, "é")}, "list": [[], [one.sent]]}


def echo(**others: object) -> Any:
    return others


def deep(depth: int) -> Any:
    found: Any = "inside"
    for _ in range(depth):
        found = [found]
    return found


def fail(how: str) -> None:
    raise ServiceError(409, "it is taken") if how == "known" else RuntimeError("it broke")


@check("SOL-SVC-4", "scripts call functions that replace a service", needs={"settings"})
async def standing_in(target: Target) -> None:
    name = "Post_" + target.identity().replace("-", "_")
    post, witness = Service(target, name), Service(target, name, WITNESS)
    await post.refused("greet", 404, name="Ann")
    functions = {"greet": greet, "parcel": parcel, "echo": echo, "deep": deep, "fail": fail}
    service = await target.in_lab(target.lab.service, name, **functions)
    greeted = {"text": "Ann Ann", "by": PROBE}
    post.same("what greet gives", await post.table("greet", name="Ann", times=2), greeted)
    greeted = {"text": "Bob", "by": WITNESS}
    witness.same("what greet gives another", await witness.table("greet", name="Bob", by="eve"), greeted)
    sent = {"weight": 2.5, "sent": "2026-01-02"}
    wanted = {"all": [sent, sent], "named": {"1": [True, None, "é"]}, "list": [[], ["2026-01-02"]]}
    found = await post.table("parcel", count=2)
    found["named"] = {"1": [*found["named"]["1"][:1], None, found["named"]["1"][-1]]}
    post.same("what parcel gives", found, wanted)
    given = {"To": "+15005550006", "more": [{"a": True}], "class": "é"}
    post.same("what echo gives", await post.table("echo", **given), given)
    kind, _ = await post.call(name, "deep", {"depth": DEEPEST - 1})
    expect.equal("type of a result that is not too deep", kind, "table", post.last)
    for operation, status, arguments in (
        ("greet", 400, {}),
        ("greet", 400, {"name": "Ann", "times": "many"}),
        ("greet", 400, {"name": ["Ann"]}),
        ("parcel", 400, {"count": 1.5}),
        ("deep", 500, {"depth": DEEPEST + 1}),
        ("fail", 409, {"how": "known"}),
        ("fail", 500, {"how": "not"}),
        ("nonsense", 404, {}),
    ):
        error = await post.table(operation, **arguments)
        kind = "QueryError" if status < 500 else "ServerError"
        fields = {each: error.get(each) for each in ("type", "status")}
        post.same(f"error of {operation}", fields, {"type": kind, "status": status})
    await target.in_lab(target.lab.service, name, greet=lambda name: f"Dear {name}")
    _, found = await post.call(name, "greet", {"name": "Ann"})
    post.same("what one gives that replaces it", found, "Dear Ann")
    await post.refused("parcel", 404, count=2)
    await target.in_lab(service.remove)
    await post.refused("greet", 404, name="Ann")
    for wrong in ("no function", len, lambda _hidden: None, _of_unknown_type):
        await _not_taken(target, name, wrong)


def _of_unknown_type(value: Service) -> None: ...


async def _not_taken(target: Target, name: str, function: Any) -> None:
    try:
        await target.in_lab(target.lab.service, name, operation=function)
        taken = True
    except LabError:
        taken = False
    expect.equal(f"is {getattr(function, '__name__', 'a text')} taken for an operation?", taken, False)


@check("SOL-SVC-11", "a service by its name and in lower case, beside a global of its name")
async def by_alias(target: Target) -> None:
    for solution in (PROBE, WITNESS):
        keystore, key = Service(target, "Keystore", solution), target.identity()
        await keystore.done("set", key=key, value=f"of {solution}")
        for name in ("Keystore", "keystore"):
            for path in (f"/scripts/services/{name}/{key}", f"/scripts/service_call/{name}/{key}"):
                found = await keystore.ask("GET", path)
                keystore.same(f"what {name} gives", found, {"value": f"of {solution}"})
        for name in ("KeyStore", "nonsense"):
            found = await keystore.ask("GET", f"/scripts/services/{name}/{key}")
            keystore.same(f"status of {name}", found.get("status"), 404)
