"""Notifications of Notify: their recipients, the result of `send`, and their lifetime."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
from labkit.conformance.device_client import now
from labkit.conformance.notifications import CHANNELS, FOUR_WEEKS, PUSH, Notify
from labkit.conformance.probe import Table
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game

HANDSETS = {"handsets"}


# ---- recipients


@check("NTF-SEND-1", "one send reaches a binding of each type at its address", needs=HANDSETS)
async def five_channels(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound_all()
    sent = await notify.send(Identity=made["apn"]["identity"], Body="to all of them")
    expect.true("it gives a notification", isinstance(sent.get("sid"), str), sent, notify.last)
    for kind, binding in made.items():
        message = await notify.message(binding)
        notify.same("channel", message.channel, kind)


@check("NTF-SEND-2", "a send by identities reaches all bindings of any of them", needs=HANDSETS)
async def by_identity(target: Target) -> None:
    notify = Notify(target)
    ann, bob, cat = [await notify.bound(kind) for kind in PUSH]
    phone = await notify.bound("sms", Identity=ann["identity"])
    upper = await notify.bound(Identity=ann["identity"].upper())
    every = [ann, phone, bob, cat, upper]

    async def reaches(what: str, wanted: list[Table], identity: object) -> None:
        await notify.reaches(what, wanted, [each for each in every if each not in wanted], Identity=identity)

    await reaches("one", [ann, phone], ann["identity"])
    await reaches("two", [ann, phone, bob], [ann["identity"], bob["identity"]])
    await reaches("one twice", [cat], [cat["identity"], cat["identity"]])
    await reaches("one and nobody", [bob], [target.identity(), bob["identity"]])
    await reaches("in capitals", [upper], [ann["identity"].upper()])


@check("NTF-SEND-3", "a send by tags reaches all bindings that have all of them", needs=HANDSETS)
async def by_tag(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    red = await notify.bound(Tag=[tag, "red"])
    both = await notify.bound("sms", Tag=["blue", tag, "red"])
    blue = await notify.bound("fcm", Tag=[tag, "blue"])
    none = await notify.bound("gcm", Tag=["red", "blue", f"{tag}x"])
    every = [red, both, blue, none]

    async def reaches(what: str, wanted: list[Table], tags: object) -> None:
        await notify.reaches(what, wanted, [each for each in every if each not in wanted], Tag=tags)

    await reaches("one tag", [red, both, blue], tag)
    await reaches("two tags", [red, both], [tag, "red"])
    await reaches("three tags", [both], ["red", "blue", tag])
    await reaches("one twice", [both, blue], [tag, "blue", tag])
    await reaches("one of nobody", [], [tag, "green"])
    await reaches("in capitals", [], [tag, "RED"])
    await notify.nothing("deleteBinding", BindingSid=both["sid"])
    await reaches("without the one that is deleted", [red], [tag, "red"])


@check("NTF-SEND-4", "20 identities are reached, 21 are refused", needs=HANDSETS)
async def most_identities(target: Target) -> None:
    notify = Notify(target)
    made = [await notify.bound() for _ in range(21)]
    names = [each["identity"] for each in made]
    await notify.reaches("20 identities", made[:20], made[20:], Identity=names[:20])
    await notify.reaches_nobody("21 identities", made, Identity=names, Body="a body")


@check("NTF-SEND-5", "20 tags are accepted, 21 are refused", needs=HANDSETS)
async def most_tags(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    tags = [tag, *(f"tag {number}" for number in range(20))]
    made = await notify.bound(Tag=tags[:20])
    less = await notify.bound(Tag=tags[:19])
    await notify.reaches("20 tags", [made], [less], Tag=tags[:20])
    await notify.reaches_nobody("21 tags", [made, less], Tag=tags, Body="a body")


@check("NTF-SEND-6", "implicit tags reach every binding, or all of a type", needs=HANDSETS)
async def implicit(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    made = await notify.bound_all(Tag=tag)
    every = list(made.values())
    await notify.reaches("all", every, [], Tag=["all", tag])
    for kind in CHANNELS:
        others = [each for each in every if each is not made[kind]]
        await notify.reaches(kind, [made[kind]], others, Tag=[tag, kind])
    await notify.reaches("of two types", [], every, Tag=[tag, "apn", "sms"])
    await notify.reaches("by the type alone", [made["gcm"]], [made["fcm"]], Tag="gcm")
    await notify.reaches("by all alone", every, [], Tag="all")


# ---- result

SENT = {
    "Body": "a body é漢😀\n",
    "Title": "a title",
    "Sound": "default",
    "Action": "open",
    "Priority": "low",
    "Ttl": 60,
}
PAYLOADS: dict[str, Table] = {
    "Data": {"a": 1, "b": {"c": [True, "x", 1.5]}},
    "Apn": {"aps": {"badge": 1}},
    "Fcm": {"collapse_key": "k"},
    "Gcm": {"data": {"d": "e"}},
    "Sms": {"media_url": ["https://media.example/1.png"]},
    "ChatMessenger": {"body": "to chat"},
}


def field(parameter: str) -> str:
    """Return the field of a notification that shows a parameter of `send`."""
    return "chat_messenger" if parameter == "ChatMessenger" else parameter.lower()


@check("NTF-SEND-7", "a notification has the parameters of the send")
async def notification_fields(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    sent = await notify.send(Identity=identity, Tag=["one"], **SENT, **PAYLOADS)
    for name, value in SENT.items():
        notify.same(field(name), sent.get(field(name)), str(value))
    for name in PAYLOADS:
        expect.true(f"{field(name)} is there", field(name) in sent, sent, notify.last)
    for name, value in (("identities", identity), ("tags", "one")):
        expect.true(f"{name} has it", value in (sent.get(name) or ""), sent, notify.last)


@check("NTF-SEND-8", "its lists are lists, its objects are objects")
async def lists_and_objects(target: Target) -> None:
    notify, names = Notify(target), [target.identity(), target.identity()]
    sent = await notify.send(Identity=names, Tag=["two", "one"], **PAYLOADS)
    notify.same("identities", sent.get("identities"), names)
    notify.same("tags", sent.get("tags"), ["two", "one"])
    for name, value in PAYLOADS.items():
        notify.same(field(name), sent.get(field(name)), value)
    sent = await notify.send(Identity=names[0])
    notify.same("identities", sent.get("identities"), names[:1])
    notify.same("tags", sent.get("tags"), [])
    for name in ("body", "title", "sound", "action", *map(field, PAYLOADS)):
        notify.same(name, sent.get(name), None)
    nothing: tuple[object, ...] = ({}, [], "{}")
    for empty in nothing:
        sent = await notify.send(Identity=names[0], **dict.fromkeys(PAYLOADS, empty))
        for name in map(field, PAYLOADS):
            notify.same(f"{name} of {empty}", sent.get(name), None)


@check("NTF-SEND-9", "a notification has sids of 34 characters, and the date when it was sent")
async def sids_and_date(target: Target) -> None:
    notify, device, identity = Notify(target), target.device("token-open"), target.identity()
    before = await now(device)
    sent = [await notify.send(Identity=identity, Body="a body") for _ in range(2)]
    after = await now(device)
    for each in sent:
        for name in ("sid", "account_sid", "service_sid"):
            notify.is_sid(name, each.get(name))
        notify.same("account_sid", each["account_sid"], notify.configured["AccountSid"])
        notify.same("service_sid", each["service_sid"], notify.configured["ServiceSid"])
        notify.is_date("date_created", each.get("date_created"))
        second = parsedate_to_datetime(each["date_created"]).timestamp()
        expect.true("date_created is now", before <= second <= after, each["date_created"], notify.last)
    expect.true("sids differ", sent[0]["sid"] != sent[1]["sid"], sent[0]["sid"], notify.last)


# ---- parameters


@check("NTF-SEND-10", "lists and objects are accepted, and one text as a list of one", needs=HANDSETS)
async def forms(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    made = await notify.bound("fcm", Tag=tag)
    for given in (
        {"Identity": made["identity"]},
        {"Identity": [made["identity"]]},
        {"Tag": tag},
        {"Tag": [tag]},
    ):
        await notify.reaches(f"{given}", [made], [], Data={"a": {"b": ["c"]}}, Fcm={"d": "e"}, **given)
        payload = (await notify.messages(made["address"]))[-1].payload
        notify.same("data and the payload", [payload["data"].get("a"), payload.get("d")], [{"b": ["c"]}, "e"])


@check("NTF-SEND-11", "objects may be given as JSON text")
async def json_text(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    texts = {name: json.dumps(value) for name, value in PAYLOADS.items()}
    sent = await notify.send(Identity=identity, **texts)
    for name, value in PAYLOADS.items():
        notify.same(field(name), sent.get(field(name)), value)
    for name in PAYLOADS:
        for wrong in ("", "no JSON", "[1]", '"text"', "{", [1], 7, True, '{"a": NaN}', "[" * 1000):
            text = await notify.refused("send", 400, Identity=identity, Body="a body", **{name: wrong})
            expect.true("the error names it", name in text, text, notify.last)


@check(
    "NTF-SEND-12", "a send needs identities or tags; without matching bindings it succeeds", needs=HANDSETS
)
async def targets(target: Target) -> None:
    notify, tag = Notify(target), target.identity()
    one = await notify.bound(Tag=tag)
    two = await notify.bound("sms", Identity=one["identity"])
    three = await notify.bound(Tag=tag)
    lacking: tuple[Table, ...] = ({}, {"Identity": {}}, {"Tag": []}, {"Identity": [], "Tag": []})
    for nothing in lacking:
        await notify.refused("send", 400, Body="a body", **nothing)
    await notify.reaches("both", [one], [two, three], Identity=one["identity"], Tag=tag)
    names = [one["identity"], three["identity"]]
    await notify.reaches("both", [one, three], [two], Identity=names, Tag=[tag, "apn"])
    await notify.reaches("none", [], [one, two, three], Identity=target.identity())
    await notify.reaches("none", [], [one, two, three], Identity=two["identity"], Tag=target.identity())


@check("NTF-SEND-13", "keys of Data that begin with twi are refused", needs=HANDSETS)
async def reserved(target: Target) -> None:
    notify = Notify(target)
    made = [await notify.bound(kind) for kind in PUSH]
    for each in made:
        for key in ("twi_body", "twi", "twix", "twi_"):
            data = {"fine": 1, key: "x"}
            error = await notify.reaches_nobody(
                key, made, Identity=each["identity"], Body="a body", Data=data
            )
            notify.same("status", error["status"], 400)
    await notify.reaches("without", made[:1], [], Identity=made[0]["identity"], Data={"fine": 1})


@check("NTF-SEND-14", "keys of Fcm and Gcm that begin with twi_ are refused", needs=HANDSETS)
async def reserved_in_payloads(target: Target) -> None:
    notify = Notify(target)
    made = {"Fcm": await notify.bound("fcm"), "Gcm": await notify.bound("gcm")}
    for name, binding in made.items():
        for payload in ({"twi_x": 1}, {"data": {"twi_body": "x"}}, {"data": {"a": 1, "twi_": 1}}):
            await notify.reaches_nobody(
                f"{payload}", [binding], Identity=binding["identity"], Body="a body", **{name: payload}
            )
        allowed: Table = {name: {"twin": 1, "data": {"twix": 1, "x_twi_": 1}}}
        await notify.reaches("others", [binding], [], Identity=binding["identity"], **allowed)


@check("NTF-SEND-15", "keys within Data are held to the same rule")
async def reserved_within(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    wrong: tuple[object, ...] = ({"a": {"twi_x": 1}}, {"a": [{"b": {"twi": 1}}]}, '{"a": {"\\u0074wi": 1}}')
    for data in wrong:
        await notify.refused("send", 400, Identity=identity, Data=data)
    fine: tuple[Table, ...] = (
        {"TWI_body": 1, "Twi": 1, "a_twi": 1, "tw": 1, "t wi": 1},
        {"a": "twi_body"},
        {"a": ["twi"]},
    )
    for data in fine:
        await notify.send(Identity=identity, Data=data)


@check("NTF-SEND-16", "Priority is low or high, and high by default")
async def priorities(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    for given, wanted in (({}, "high"), ({"Priority": "high"}, "high"), ({"Priority": "low"}, "low")):
        sent = await notify.send(Identity=identity, **given)
        notify.same("priority", sent.get("priority"), wanted)
    for wrong in ("normal", "LOW", "10", "", 5):
        await notify.fails("send", Identity=identity, Priority=wrong)


@check("NTF-SEND-17", "an error of a limit names the parameter")
async def bounds(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    many = [f"{identity} {number}" for number in range(21)]
    for name, wrong in (
        ("Identity", many),
        ("Tag", many),
        ("Priority", "normal"),
        ("Ttl", FOUR_WEEKS + 1),
        ("Ttl", -1),
    ):
        text = await notify.refused("send", 400, **{"Identity": identity, "Body": "a body", name: wrong})
        expect.true("the error names it", name in text, text, notify.last)


# ---- lifetime


@check("NTF-TTL-1", "Ttl is four weeks at most, and where it is left out", needs=HANDSETS)
async def four_weeks(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound()
    for given, wanted in (
        ({}, FOUR_WEEKS),
        ({"Ttl": FOUR_WEEKS}, FOUR_WEEKS),
        ({"Ttl": 0}, 0),
        ({"Ttl": 1}, 1),
    ):
        sent = await notify.send(Identity=made["identity"], Body="a body", **given)
        notify.same("ttl", sent.get("ttl"), str(wanted))
    for wrong in (FOUR_WEEKS + 1, 10**12):
        await notify.reaches_nobody(f"Ttl {wrong}", [made], Identity=made["identity"], Body="x", Ttl=wrong)


async def offline_binding(notify: Notify, target: Target, kind: str) -> Table:
    """Return a new binding whose device is switched off."""
    made = await notify.bound(kind)
    await target.in_lab(target.lab.handsets[made["address"]].offline)
    return made


async def texts_once_online(notify: Notify, target: Target, binding: Table) -> list[str]:
    """Switch a device on and return the texts it has received."""
    await target.in_lab(target.lab.handsets[binding["address"]].online)
    return [each.text for each in await notify.messages(binding["address"])]


@check("NTF-TTL-2", "a Ttl of 0 is one attempt, at once", needs=HANDSETS)
async def one_attempt(target: Target) -> None:
    notify = Notify(target)
    for kind in PUSH:
        there = await notify.bound(kind)
        unreachable = await offline_binding(notify, target, kind)
        names = [there["identity"], unreachable["identity"]]
        await notify.send(Identity=names, Body="now or never", Ttl=0)
        await notify.send(Identity=names, Body="later will do", Ttl=60)
        texts = [each.text for each in await notify.messages(there["address"])]
        notify.same("what is there", texts, ["now or never", "later will do"])
        notify.same(
            f"what a {kind} device gets later",
            await texts_once_online(notify, target, unreachable),
            ["later will do"],
        )


# ttl, seconds until the device is back, whether it gets the notification
WAITS = ((60, 59.999, True), (60, 60, False), (60, 3600, False), (1, 0.5, True), (1, 1, False))


@check("NTF-TTL-3", "a notification waits until its Ttl is over, and no longer", needs={*HANDSETS, "clock"})
async def waits(target: Target) -> None:
    notify = Notify(target)
    for kind in PUSH:
        for seconds, before, got in WAITS:
            made = await offline_binding(notify, target, kind)
            await notify.send(Identity=made["identity"], Body="a body", Ttl=seconds)
            await target.advance(before)
            notify.same(
                f"what {kind} gets {before} of {seconds} seconds later",
                await texts_once_online(notify, target, made),
                ["a body"] if got else [],
            )


@check(
    "NTF-TTL-4",
    "phones that were away get SMS and chat messages whatever the Ttl",
    needs={*HANDSETS, "clock"},
)
async def ignored(target: Target) -> None:
    notify = Notify(target)
    for kind in ("sms", "chat-messenger"):
        for seconds in (0, 1):
            made = await offline_binding(notify, target, kind)
            await notify.send(Identity=made["identity"], Body="a body", Ttl=seconds)
            await target.advance(5)
            notify.same(f"what {kind} gets", await texts_once_online(notify, target, made), ["a body"])


@check("NTF-TTL-5", "Ttl is a whole number, as a number or as text")
async def whole(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    for given, wanted in (
        ("60", "60"),
        (60, "60"),
        ("0", "0"),
        (str(FOUR_WEEKS), str(FOUR_WEEKS)),
        (60.0, "60"),
    ):
        sent = await notify.send(Identity=identity, Ttl=given)
        notify.same("ttl", sent.get("ttl"), wanted)
    for wrong in (-1, "-1", "-0", 0.5, "1.5", "soon", "", True, [1], "1e3", "9" * 400):
        await notify.refused("send", 400, Identity=identity, Ttl=wrong)


# Ttl, time_to_live of the channel's own payload, seconds until the device is back, channels that get it then
OWN_WAITS: tuple[tuple[int, int, float, set[str]], ...] = (
    (60, 10, 9.5, {"fcm", "gcm", "apn"}),
    (60, 10, 10, {"apn"}),
    (60, 0, 0, {"apn"}),
    (10, 60, 10, {"fcm", "gcm"}),
    (0, 60, 59.5, {"fcm", "gcm"}),
    (10, 60, 60, set()),
)


@check(
    "NTF-TTL-6", "time_to_live of Fcm and Gcm counts for these, Ttl for others", needs={*HANDSETS, "clock"}
)
async def own_time_to_live(target: Target) -> None:
    notify = Notify(target)
    for seconds, own, later, got in OWN_WAITS:
        made = {kind: await offline_binding(notify, target, kind) for kind in ("apn", "fcm", "gcm")}
        await notify.send(
            Identity=[each["identity"] for each in made.values()],
            Body="a body",
            Ttl=seconds,
            Fcm={"time_to_live": own},
            Gcm={"time_to_live": own},
        )
        await target.settle()
        await target.advance(later)
        for kind, binding in made.items():
            texts = await texts_once_online(notify, target, binding)
            what = f"what {kind} gets after {later} s, with Ttl {seconds} and time_to_live {own}"
            notify.same(what, texts, ["a body"] if kind in got else [])


@model_check(
    "NTF-BIND-1 NTF-BIND-3 NTF-BIND-5 NTF-BIND-6 NTF-BIND-7 NTF-BIND-8 NTF-BIND-9 NTF-BIND-12 NTF-BIND-13 "
    "NTF-BIND-14 NTF-BIND-15 NTF-BIND-17 NTF-BIND-18 NTF-BIND-20 NTF-LIST-2 NTF-LIST-3 NTF-LIST-4 NTF-LIST-6 "
    "NTF-LIST-8 NTF-SEND-1 NTF-SEND-3 NTF-SEND-4 NTF-SEND-5 NTF-SEND-11 NTF-SEND-13 NTF-SEND-14 NTF-SEND-15 "
    "NTF-SEND-16 NTF-SEND-17 NTF-TTL-1 NTF-TTL-3 NTF-TTL-4 NTF-TTL-5 NTF-CALL-7",
    "bindings, lists and sends of three services in any order, and what handsets got, as a model has them",
)
def model() -> type[Game]:
    """Return the game of notifications."""
    from labkit.conformance.notify.send.notifications import Notifications

    return Notifications
