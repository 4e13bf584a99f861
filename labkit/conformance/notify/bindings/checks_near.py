"""Bindings of two accounts with the same names, and near misses of a binding's names and credentials."""

from __future__ import annotations

from functools import partial
from typing import Any

from labkit.conformance import expect, twins
from labkit.conformance.check import check
from labkit.conformance.near_misses import EMPTY, near_misses
from labkit.conformance.notifications import Notify
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.races import ORDERS, at_once
from labkit.conformance.target import Target
from labkit.conformance.twins import MARKS, Act, Twin, act


def bound(identity: str, endpoint: str, sid: str, **more: Any) -> Act:
    """Return an act that creates a chat-messenger binding and keeps its sid under a name."""
    given = {"Identity": identity, "Endpoint": endpoint, "BindingType": "chat-messenger", **more}
    return act("Notify.createBinding", keep=f"sid={sid}", **given, Address=f"{endpoint}-of-§")


def story(name: str) -> tuple[list[Act], dict[str, list[Act]]]:
    """Return acts on bindings of two identities, one a prefix of the other, and views of these bindings."""
    ann, anna = f"{name}-ann", f"{name}-anna"
    tags = [f"{name}-red", f"{name}-reds"]
    made = [
        bound(ann, f"{name}-1", "one", Tag=tags[:1]),
        bound(ann, f"{name}-2", "two", Tag=tags),
        bound(anna, f"{name}-3", "three", Tag=tags[1:]),
        bound(ann, f"{name}-1", "four", Tag=tags[1:]),
        act("Notify.getBinding", crossed=True, BindingSid="<two>"),
        act("Notify.send", keep="sid=first", Identity=ann, Body="§"),
        act("Notify.send", keep="sid=second", Tag=tags[:1], Body="§"),
        act("Notify.getBinding", fails=True, BindingSid="<one>"),
        act("Notify.deleteBinding", crossed=True, BindingSid="<two>"),
        act("Notify.getBinding", fails=True, BindingSid="<two>"),
        bound(ann, f"{name}-2", "five"),
        act("Notify.deleteBinding", BindingSid="<three>"),
        act("Notify.send", keep="sid=third", Identity=[ann, anna], Body="again §"),
    ]
    views: list[dict[str, Any]] = [
        {"Identity": ann},
        {"Identity": [ann, anna]},
        {"Tag": tags[:1]},
        {"Tag": tags},
        {"Identity": ann, "Tag": "chat-messenger"},
    ]
    return made, {"bindings": [act("Notify.listBinding", **each) for each in views]}


@check(
    "NTF-CALL-12 NTF-CALL-7", "two accounts have bindings of the same names", needs={"handsets", "settings"}
)
async def namesakes(target: Target) -> None:
    await target.in_lab(_namesakes, target)


def _namesakes(target: Target) -> None:
    name = target.identity()
    one, other = (
        Twin(target.lab.solution(id), mark) for id, mark in zip((PROBE, WITNESS), MARKS, strict=True)
    )
    for twin, id in ((one, PROBE), (other, WITNESS)):
        configured = target.configured(id, "Notify")
        twin.secrets |= {"account": configured["AccountSid"], "service": configured["ServiceSid"]}
    acts, views = story(name)
    twins.play((one, other), acts, views)
    target.lab.settle()
    for twin in (one, other):
        got = {
            number: [each.text for each in target.lab.handsets[address].messages]
            if address in target.lab.handsets
            else []
            for number in (1, 2, 3)
            for address in [f"{name}-{number}-of-{twin.mark}"]
        }
        again = f"again {twin.mark}"
        expect.equal("what arrived", got, {1: [twin.mark, again], 2: [twin.mark, twin.mark, again], 3: []})


@check(
    "NTF-BIND-18 NTF-LIST-2 NTF-LIST-3 NTF-SEND-2 NTF-SEND-3 NTF-CALL-5",
    "near misses of identities, tags, sids and credentials",
    needs={"handsets"},
)
async def near_names(target: Target) -> None:
    notify, tag = Notify(target), f"{target.identity()}-Tag"
    # ends in letters, since identities of other checks differ in their last digits only
    binding = await notify.bound(Identity=f"{target.identity()}-Name", Tag=[tag])
    identity = binding["identity"]
    for _, wrong in near_misses(identity, but=EMPTY):
        await notify.lists("bindings of nearly the identity", [], Identity=wrong)
        await notify.reaches("nearly the identity", [], [binding], Identity=wrong)
    for _, wrong in near_misses(tag, but=EMPTY):
        await notify.lists("bindings with nearly the tag", [], Tag=wrong)
        await notify.reaches("nearly the tag", [], [binding], Tag=wrong)
    for _, wrong in near_misses(binding["sid"], but=EMPTY):
        await notify.fails("getBinding", BindingSid=wrong)
        await notify.fails("deleteBinding", BindingSid=wrong)
    for name in ("AccountSid", "AuthToken", "ServiceSid"):
        for _, wrong in near_misses(notify.configured[name], but=EMPTY):
            await notify.fails("listBinding", **{name: wrong})
            await notify.fails("send", Identity=identity, Body="x", **{name: wrong})
    await notify.lists("bindings of the identity", [binding], Identity=identity)
    await notify.reaches("the identity", [binding], [], Identity=identity)


@check("NTF-BIND-18 NTF-BIND-1", "bindings that are made and deleted at once")
async def bindings_at_once(target: Target) -> None:
    for turned in ORDERS:
        notify = Notify(target)
        given = notify.new()
        binding = await notify.done("createBinding", **given)
        delete = partial(notify.call, "Notify", "deleteBinding", {"BindingSid": binding["sid"]})
        kinds = sorted(kind for kind, _ in await at_once(delete, delete, turned=turned))
        expect.equal("two removals at once", kinds, ["nil", "table"], notify.last)
        create = partial(notify.done, "createBinding", **given)
        made = await at_once(create, create, turned=turned)
        listed = await notify.sids(Identity=given["Identity"])
        expect.equal("bindings of one endpoint", len(listed), 1, notify.last)
        expect.true("it is one of the two", listed[0] in [each["sid"] for each in made], listed, notify.last)
