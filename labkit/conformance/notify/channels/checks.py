"""The payloads of notifications that arrive at devices and phones, by channel."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.notifications import FOUR_WEEKS, PUSH, Notify
from labkit.conformance.probe import Table
from labkit.conformance.target import Target

HANDSETS = {"handsets"}
CLOUD = ("fcm", "gcm")
PHONES = ("sms", "chat-messenger")
WORD = "a word that stands nowhere else"


def nested(payload: Table, *path: str) -> object:
    """Return the value at a path of nested objects; None if there is none."""
    found: object = payload
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def expect_absent(notify: Notify, payloads: dict[str, Table], *kinds: str) -> None:
    """Raise a Mismatch if one of these payloads contains the word that was sent."""
    for kind in kinds:
        text = repr(payloads[kind])
        expect.true(f"{kind} has nothing of it", WORD not in text, text, notify.last)


# ---- Body, Title, Sound, Action


@check("NTF-TEXT-1", "Body arrives under the name that each channel has for it", needs=HANDSETS)
async def body(target: Target) -> None:
    notify = Notify(target)
    for text in ("a body", "é漢😀 & <b> \"'\\ \n%20+", "0", "null", " "):
        found = await notify.payloads(Body=text)
        notify.same("body of apn", nested(found["apn"], "aps", "alert", "body"), text)
        for kind in CLOUD:
            notify.same(f"body of {kind}", nested(found[kind], "data", "twi_body"), text)
        for kind in PHONES:
            notify.same(f"body of {kind}", found[kind].get("body"), text)


@check("NTF-TEXT-2", "an SMS needs a body of some kind", needs=HANDSETS)
async def sms_needs_body(target: Target) -> None:
    notify = Notify(target)
    made = [await notify.bound("sms"), await notify.bound()]
    names = [each["identity"] for each in made]
    lacking: tuple[Table, ...] = ({}, {"Title": "a title"}, {"Sms": {"max_price": "0.1"}}, {"Body": ""})
    for given in lacking:
        await notify.reaches_nobody(f"{given}", made, Identity=names, **given)
    for sms in ({"body": "its own"}, {"media_url": "https://media.example/1.png"}):
        await notify.reaches_without_body(f"{sms}", made, Identity=names, Sms=sms)


@check("NTF-TEXT-3", "a chat-messenger message needs a body", needs=HANDSETS)
async def chat_needs_body(target: Target) -> None:
    notify = Notify(target)
    made = [await notify.bound("chat-messenger"), await notify.bound()]
    names = [each["identity"] for each in made]
    lacking: tuple[Table, ...] = (
        {},
        {"Title": "a title"},
        {"ChatMessenger": {"other": 1}},
        {"Sms": {"body": "x"}},
    )
    for given in lacking:
        await notify.reaches_nobody(f"{given}", made, Identity=names, **given)
    own: Table = {"body": "its own", "to": "elsewhere"}  # the binding sets the address
    await notify.reaches_without_body("its own", made, Identity=names, ChatMessenger=own)
    notify.same("body", (await notify.messages(made[0]["address"]))[-1].payload.get("body"), "its own")


@check(
    "NTF-TEXT-4", "a missing body is an error of status 400 where a phone is to be reached", needs=HANDSETS
)
async def body_needed(target: Target) -> None:
    notify = Notify(target)
    for kind in PHONES:
        made = await notify.bound(kind)
        await notify.refused("send", 400, Identity=made["identity"])
    made = await notify.bound()
    await notify.reaches_without_body("push alone", [made], Identity=made["identity"])
    await notify.send(Identity=target.identity())


@check("NTF-TEXT-5", "Title arrives on push channels alone", needs=HANDSETS)
async def title(target: Target) -> None:
    notify = Notify(target)
    found = await notify.payloads(Body="a body", Title=WORD)
    notify.same("title of apn", nested(found["apn"], "aps", "alert", "title"), WORD)
    notify.same("body of apn", nested(found["apn"], "aps", "alert", "body"), "a body")
    for kind in CLOUD:
        notify.same(f"title of {kind}", nested(found[kind], "data", "twi_title"), WORD)
    expect_absent(notify, found, *PHONES)


@check("NTF-TEXT-6", "Sound arrives on push channels alone", needs=HANDSETS)
async def sound(target: Target) -> None:
    notify = Notify(target)
    found = await notify.payloads(Body="a body", Sound=WORD)
    notify.same("sound of apn", nested(found["apn"], "aps", "sound"), WORD)
    for kind in CLOUD:
        notify.same(f"sound of {kind}", nested(found[kind], "data", "twi_sound"), WORD)
    expect_absent(notify, found, *PHONES)


@check("NTF-TEXT-7", "Action arrives at gcm and apn", needs=HANDSETS)
async def action(target: Target) -> None:
    notify = Notify(target)
    found = await notify.payloads(Body="a body", Action=WORD)
    notify.same("category of apn", nested(found["apn"], "aps", "category"), WORD)
    notify.same("action of gcm", nested(found["gcm"], "data", "twi_action"), WORD)
    expect_absent(notify, found, *PHONES)


@check("NTF-TEXT-8", "fcm has nothing of Action", needs=HANDSETS)
async def no_action(target: Target) -> None:
    notify = Notify(target)
    expect_absent(notify, await notify.payloads(Body="a body", Action=WORD), "fcm")


# ---- Data, Priority, payloads


@check("NTF-DATA-1", "Data is beside aps, and in data of fcm and gcm", needs=HANDSETS)
async def data(target: Target) -> None:
    notify = Notify(target)
    own: Table = {
        "key": WORD,
        "number": 1,
        "list": [1, {"a": None, "b": 2.5}],
        "é 漢": "x",
        "object": {"deep": {"er": True}},
    }
    found = await notify.payloads(Body="a body", Data=own)
    for name in own:
        notify.same(f"{name} of apn", found["apn"].get(name), without_nulls(own[name]))
        for kind in CLOUD:
            notify.same(f"{name} of {kind}", nested(found[kind], "data", name), without_nulls(own[name]))
    for kind in CLOUD:
        notify.same("body beside it", nested(found[kind], "data", "twi_body"), "a body")
    notify.same("body beside it", nested(found["apn"], "aps", "alert", "body"), "a body")
    expect_absent(notify, found, *PHONES)
    found = await notify.payloads(Body="a body", Data={"aps": WORD})
    notify.same("aps of apn is its own", found["apn"].get("aps"), {"alert": {"body": "a body"}})
    for kind in CLOUD:
        notify.same(f"aps of {kind}", nested(found[kind], "data", "aps"), WORD)


def without_nulls(value: object) -> object:
    """Return a JSON value without null fields of objects: a Lua table holds no nil."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


PRIORITIES: tuple[tuple[Table, str, str], ...] = (  # parameters, priority at fcm and gcm, priority at apn
    ({}, "high", "10"),
    ({"Priority": "high"}, "high", "10"),
    ({"Priority": "low"}, "normal", "5"),
)


@check("NTF-DATA-2", "Priority has each push channel's own words", needs=HANDSETS)
async def priority(target: Target) -> None:
    notify = Notify(target)
    bindings = await notify.bound_all()
    for given, cloud, apn in PRIORITIES:
        await notify.send(Identity=bindings["apn"]["identity"], Body="a body", **given)
        newest = {kind: (await notify.messages(each["address"]))[-1] for kind, each in bindings.items()}
        for kind in CLOUD:
            notify.same(f"priority of {kind}", str(newest[kind].payload.get("priority")).lower(), cloud)
        written = {name.lower(): value for name, value in newest["apn"].headers.items()}
        notify.same("priority of apn", written.get("apns-priority"), apn)
        for kind in PHONES:
            there = "priority" in f"{newest[kind].payload} {newest[kind].headers}".lower()
            expect.true(f"{kind} has none", not there, newest[kind].payload, notify.last)


@check("NTF-DATA-3", "Ttl is the last second of apn, and time_to_live of fcm and gcm", needs=HANDSETS)
async def time_to_live(target: Target) -> None:
    notify = Notify(target)
    bindings = {kind: await notify.bound(kind) for kind in PUSH}
    for given, seconds in (({}, FOUR_WEEKS), ({"Ttl": 90}, 90), ({"Ttl": 0}, 0)):
        sent = await notify.send(Identity=[each["identity"] for each in bindings.values()], Body="x", **given)
        newest = {kind: (await notify.messages(each["address"]))[-1] for kind, each in bindings.items()}
        second = int(parsedate_to_datetime(sent["date_created"]).timestamp())
        expires = str(second + seconds) if seconds else "0"
        notify.same("expiration of apn", newest["apn"].headers.get("apns-expiration"), expires)
        for kind in CLOUD:
            notify.same(f"time_to_live of {kind}", newest[kind].payload.get("time_to_live"), seconds)


OWN: dict[str, tuple[str, Table]] = {
    "apn": (
        "Apn",
        {"aps": {"badge": 3, "sound": "own", "alert": {"subtitle": "s", "body": "own"}}, "a": 2, "n": 1},
    ),
    "fcm": ("Fcm", {"collapse_key": "k", "priority": "own", "data": {"a": 2, "n": 1}}),
    "gcm": ("Gcm", {"delay_while_idle": True, "priority": "own", "data": {"a": 2, "n": 1}}),
}


@check("NTF-DATA-4", "a channel's payload adds and overrides for its type alone", needs=HANDSETS)
async def own_payload(target: Target) -> None:
    notify = Notify(target)
    generic: Table = {"Body": "a body", "Title": "a title", "Sound": "a sound", "Data": {"a": 1, "b": 1}}
    plain = await notify.payloads(**generic)
    for kind, (name, own) in OWN.items():
        found = await notify.payloads(**generic, **{name: own})
        for other in (*PUSH, *PHONES):
            if other != kind:
                notify.same(f"{other}, whose payload it is not", found[other], plain[other])
        for key, value in own.items():
            if not isinstance(value, dict):
                notify.same(f"{key} of {kind}", found[kind].get(key), value)
    found = await notify.payloads(**generic, Apn=OWN["apn"][1])
    aps = found["apn"]["aps"]
    notify.same("aps", [aps.get("badge"), aps.get("sound")], [3, "own"])
    notify.same("alert", aps.get("alert"), {"title": "a title", "body": "own", "subtitle": "s"})
    for kind, name in (("fcm", "Fcm"), ("gcm", "Gcm")):
        found = await notify.payloads(**generic, **{name: OWN[kind][1]})
        data = found[kind]["data"]
        notify.same(f"data of {kind}", [data.get("a"), data.get("b"), data.get("n")], [2, 1, 1])


@check("NTF-DATA-5", "a channel's payload removes no field", needs=HANDSETS)
async def nothing_taken(target: Target) -> None:
    notify = Notify(target)
    generic: Table = {
        "Body": "a body",
        "Title": "a title",
        "Sound": "a sound",
        "Data": {"a": 1, "b": {"c": 1}},
    }
    plain = await notify.payloads(**generic)
    for kind, (name, own) in OWN.items():
        payloads: tuple[Table, ...] = (own, {"data": {}, "aps": {}}, {"x": 1})
        for payload in payloads:
            found = await notify.payloads(**generic, **{name: payload})
            missing = missing_names(plain[kind], found[kind])
            expect.equal(f"what {kind} lost by {payload}", missing, [], notify.last)


def missing_names(before: Table, after: Table) -> list[str]:
    """Return the names in `before` that are missing in `after`, also within objects."""
    absent = []
    for name, value in before.items():
        if name not in after:
            absent.append(name)
        elif isinstance(value, dict):
            inner = after[name]
            absent += [
                f"{name}.{each}" for each in missing_names(value, inner if isinstance(inner, dict) else {})
            ]
    return absent


@check("NTF-DATA-6", "Fcm and Gcm stand at the root", needs=HANDSETS)
async def root(target: Target) -> None:
    notify = Notify(target)
    for kind, name in (("fcm", "Fcm"), ("gcm", "Gcm")):
        own: Table = {
            "collapse_key": "k",
            "notification": {"icon": "i"},
            "x-own": [1],
            "é": 12345678901234567890,
        }
        # as text: a Lua number cannot hold the last value
        found = await notify.payloads(Body="a body", **{name: json.dumps(own)})
        for key, value in own.items():
            notify.same(f"{key} of {kind}", found[kind].get(key), value)


@check("NTF-DATA-7", "Fcm and Gcm cannot say where a notification goes", needs=HANDSETS)
async def target_keys(target: Target) -> None:
    notify = Notify(target)
    keys = ("to", "registration_ids", "notificationkey")
    for kind, name, named in (("fcm", "Fcm", (*keys, "condition")), ("gcm", "Gcm", keys)):
        made, other = await notify.bound(kind), await notify.bound(kind)
        for key in named:
            value: object = [other["address"]] if key == "registration_ids" else other["address"]
            payload = {"fine": 1, key: value}
            await notify.reaches_nobody(
                f"{name}.{key}", [made, other], Identity=made["identity"], Body="a body", **{name: payload}
            )
        await notify.reaches(
            "without", [made], [other], Identity=made["identity"], **{name: {"data": {"to": "x"}}}
        )


@check("NTF-DATA-8", "null overrides nothing", needs=HANDSETS)
async def null(target: Target) -> None:
    notify = Notify(target)
    plain = await notify.payloads(Body="a body", Data={"a": 1})
    found = await notify.payloads(
        Body="a body",
        Data={"a": 1},
        Apn='{"aps": null, "a": null}',
        Fcm='{"data": {"a": null, "twix": null}, "priority": null}',
        Gcm='{"data": null, "priority": null}',
    )
    for kind in PUSH:
        expect.equal(f"what {kind} lost", missing_names(plain[kind], found[kind]), [], notify.last)
    notify.same("a of apn", found["apn"]["a"], 1)
    notify.same("priority", [found[kind]["priority"] for kind in CLOUD], ["high", "high"])


# ---- SMS


@check("NTF-SMS-1", "the fields of Sms are the message's", needs=HANDSETS)
async def sms_fields(target: Target) -> None:
    notify = Notify(target)
    own: Table = {
        "from": "+15005550006",
        "body": "its own",
        "media_url": ["https://media.example/1.png", "https://media.example/2.png"],
        "status_callback": "https://callback.example/status",
        "max_price": "0.25",
    }
    found = (await notify.payloads(Body="a body", Sms=own))["sms"]
    for name, value in own.items():
        notify.same(name, found.get(name), value)
    made = await notify.bound("sms")
    await notify.send(Identity=made["identity"], Body="a body", Sms={"max_price": "0.5"})
    payload = (await notify.message(made)).payload
    seen = [payload.get(each) for each in ("to", "body", "max_price")]
    notify.same("to, body, price", seen, [made["address"], "a body", "0.5"])


@check("NTF-SMS-2", "the messaging service is the sender, unless Sms names one", needs=HANDSETS)
async def sender(target: Target) -> None:
    notify = Notify(target)
    service = target.messaging_service(0, 0).messaging_service
    found = (await notify.payloads(Body="a body"))["sms"]
    notify.same("messaging service", found.get("messaging_service_sid"), service)
    notify.same("from", found.get("from"), None)
    found = (await notify.payloads(Body="a body", Sms={"from": "+15005550006"}))["sms"]
    notify.same("from", found.get("from"), "+15005550006")
    notify.same("messaging service", found.get("messaging_service_sid"), None)


@check("NTF-SMS-3", "without messaging service an SMS needs a sender", needs=HANDSETS)
async def no_sender(target: Target) -> None:
    notify = Notify(target)
    service = {"ServiceSid": target.messaging_service(0, 1).sid}
    made = [await notify.bound(kind, **service) for kind in ("sms", "apn")]
    names = [each["identity"] for each in made]
    await notify.reaches_nobody("no sender", made, Identity=names, Body="a body", **service)
    await notify.reaches("a sender", made, [], Identity=names, Sms={"from": "+15005550006"}, **service)
    payload = (await notify.message(made[0])).payload
    wanted = {"to": made[0]["address"], "from": "+15005550006", "body": "a body"}
    notify.same("what an SMS has then", payload, wanted)
    await notify.reaches("push alone", [made[1]], [], Identity=names[1], **service)


@check("NTF-SMS-4", "another attribute of Sms is refused")
async def unknown_attribute(target: Target) -> None:
    notify, identity = Notify(target), target.identity()
    for own in ({"to": "+15005550009"}, {"From": "+15005550006"}, {"twi_body": "x"}):
        text = await notify.refused("send", 400, Identity=identity, Body="a body", Sms=own)
        expect.true("the error names Sms", "Sms" in text, text, notify.last)
