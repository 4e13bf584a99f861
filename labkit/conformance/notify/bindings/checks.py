"""Bindings of Notify. Every check uses its own identities, endpoints and addresses."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.device_client import now
from labkit.conformance.notifications import CHANNELS, PUSH, Notify
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.target import Target

CREDENTIAL = f"CR{'1' * 32}"
ODD = ("é漢😀", "a b", "a&b=c%20+", "x@y.z", "'\"\\", "<b>", "a\tb", "all", "ISAC/../", "null", " ")


@check("NTF-BIND-1", "getBinding gives the binding that createBinding gave")
async def made_and_found(target: Target) -> None:
    notify = Notify(target)
    for kind in CHANNELS:
        made = await notify.done("createBinding", **notify.new(kind, Tag=["one", "two"]))
        notify.same(f"the {kind} binding", await notify.done("getBinding", BindingSid=made["sid"]), made)


@check("NTF-BIND-2", "a binding needs identity, endpoint, type and address")
async def required(target: Target) -> None:
    notify = Notify(target)
    for name in ("Identity", "Endpoint", "BindingType", "Address"):
        given = notify.new()
        identity = given["Identity"]
        for lacking in ({each: given[each] for each in given if each != name}, {**given, name: ""}):
            await notify.fails("createBinding", **lacking)
        await notify.lists(f"bindings without {name}", [], Identity=identity)


@check("NTF-BIND-3", "sids have 34 letters and digits, and each binding one of its own")
async def sids(target: Target) -> None:
    notify = Notify(target)
    made = [await notify.bound(kind) for kind in (*CHANNELS, *CHANNELS)]
    for each in made:
        for name in ("sid", "account_sid", "service_sid"):
            notify.is_sid(name, each.get(name))
        notify.same("account_sid", each["account_sid"], notify.configured["AccountSid"])
        notify.same("service_sid", each["service_sid"], notify.configured["ServiceSid"])
    expect.equal("sids that differ", len({each["sid"] for each in made}), len(made))


@check("NTF-BIND-4", "each binding has a URL of its own")
async def urls(target: Target) -> None:
    notify = Notify(target)
    made = [await notify.bound() for _ in range(2)]
    for each in made:
        fits = isinstance(each.get("url"), str) and each["url"].startswith("https://")
        expect.true("url is one of https", fits, each.get("url"), notify.last)
    expect.true("they differ", made[0]["url"] != made[1]["url"], made[0]["url"], notify.last)
    found = await notify.done("getBinding", BindingSid=made[0]["sid"])
    notify.same("url", found.get("url"), made[0]["url"])


@check("NTF-BIND-5 NTF-BIND-16", "tags are those that were given")
async def tags(target: Target) -> None:
    notify = Notify(target)
    for given, wanted in ((["b", "a", "ä:b c"], ["b", "a", "ä:b c"]), ([*ODD[:7]], [*ODD[:7]]), ([], [])):
        made = await notify.bound(Tag=given)
        notify.same("tags", made.get("tags"), wanted)
        found = await notify.done("getBinding", BindingSid=made["sid"])
        notify.same("tags", found.get("tags"), wanted)
    notify.same("tags of one without", (await notify.bound()).get("tags"), [])


@check("NTF-BIND-6", "address, endpoint, identity and type are stored unchanged")
async def fields(target: Target) -> None:
    notify = Notify(target)
    for number, odd in enumerate(ODD):
        kind = CHANNELS[number % len(CHANNELS)]
        given = notify.new(kind)
        given["Identity"] += odd
        given["Endpoint"] += odd
        if kind != "sms":
            given["Address"] += ":Aa" + odd.replace(" ", "_").replace("\t", "_")
        made = await notify.done("createBinding", **given)
        for each in (made, await notify.done("getBinding", BindingSid=made["sid"])):
            seen = [each.get(name) for name in ("identity", "endpoint", "address", "binding_type")]
            wanted = [given[name] for name in ("Identity", "Endpoint", "Address", "BindingType")]
            notify.same("what was given", seen, wanted)
        await notify.lists("by its identity", [made], Identity=given["Identity"])


@check("NTF-BIND-7", "there are five types of bindings, and no other")
async def types(target: Target) -> None:
    notify = Notify(target)
    for kind in CHANNELS:
        made = await notify.done("createBinding", **notify.new(kind))
        notify.same("binding_type", made.get("binding_type"), kind)
    for wrong in ("email", "APN", "all", "chat_messenger", "sms ", "fcm,gcm", 1):
        given = notify.new("apn", BindingType=wrong)
        await notify.fails("createBinding", **given)
        await notify.lists(f"bindings of type {wrong}", [], Identity=given["Identity"])


NO_NUMBERS = (
    "15005550001",
    "+0500555000",
    "+1 500 555 0001",
    "+1500555000A",
    "+1234567890123456",
    "+",
    "ann",
    "00441234",
)


@check("NTF-BIND-8", "an SMS binding has a phone number in E.164 format")
async def numbers(target: Target) -> None:
    notify = Notify(target)
    for good in ("+15005550001", "+442071838750", "+123456789012345", "+12"):
        made = await notify.done("createBinding", **notify.new("sms", Address=good))
        notify.same("address", made.get("address"), good)
    for wrong in NO_NUMBERS:
        given = notify.new("sms", Address=wrong)
        await notify.fails("createBinding", **given)
        await notify.lists(f"bindings to {wrong}", [], Identity=given["Identity"])


@check("NTF-BIND-9", "an invalid phone number has the provider's error code")
async def number_errors(target: Target) -> None:
    notify = Notify(target)
    for wrong in ("15005550001", "+0500555000", "+1500555000A", "+1234567890123456", "+", "ann"):
        given = notify.new("sms", Address=wrong)
        found = await notify.refused_upstream("createBinding", 400, **given)
        notify.same("code", found.get("code"), 21211)
    given = notify.new("chat-messenger", Address="+1500555000A")
    found = await notify.refused_upstream("createBinding", 400, **given)
    notify.same("code", found.get("code"), 21211)
    given = notify.new("chat-messenger", Address="+15005550001")
    await notify.done("createBinding", **given)


@check("NTF-BIND-10", "dates have the form of RFC 2822, and tell when a binding was made")
async def dates(target: Target) -> None:
    notify, device = Notify(target), target.device("token-open")
    before = await now(device)
    made = await notify.bound()
    after = await now(device)
    for name in ("date_created", "date_updated"):
        notify.is_date(name, made.get(name))
        second = parsedate_to_datetime(made[name]).timestamp()
        expect.true(f"{name} is now", before <= second <= after, made[name], notify.last)
    listed = await notify.done("listBinding", Identity=made["identity"])
    notify.same("dates in a list", listed["bindings"][0].get("date_created"), made["date_created"])


@check("NTF-BIND-10", "dates are right to the second, fractions cut off", needs={"clock"})
async def seconds(target: Target) -> None:
    notify, device = Notify(target), target.device("token-open")
    for ahead in (0, 47.75, 11):  # from the next full minute, to seconds that differ
        start = await now(device)
        await target.advance(60 - start % 60 + ahead)
        before = await now(device)
        made = await notify.bound()
        sent = await notify.send(Identity=made["identity"], Body="a body")
        after = await now(device)
        for each in (made, sent):
            second = parsedate_to_datetime(each["date_created"]).timestamp()
            expect.true(
                "the second is right", before // 1 <= second <= after, each["date_created"], notify.last
            )


@check("NTF-BIND-11", "the credential is that of the call, or else of the service")
async def credential(target: Target) -> None:
    notify = Notify(target)
    own = target.messaging_service(0, 0).credentials.model_dump()
    for kind in PUSH:
        made = await notify.bound(kind)
        notify.same(f"credential_sid of {kind}", made.get("credential_sid"), own[kind])
        made = await notify.bound(kind, CredentialSid=CREDENTIAL)
        found = await notify.done("getBinding", BindingSid=made["sid"])
        notify.same(f"credential_sid of {kind}", found.get("credential_sid"), CREDENTIAL)
        made = await notify.bound(kind, ServiceSid=target.messaging_service(0, 1).sid)
        notify.same(f"credential_sid of {kind}, which has none", made.get("credential_sid"), None)


@check("NTF-BIND-12", "the protocol version is that of the call, or else '3'")
async def protocol(target: Target) -> None:
    notify = Notify(target)
    for kind in PUSH:
        made = await notify.bound(kind)
        notify.same(f"version of {kind}", made.get("notification_protocol_version"), "3")
        made = await notify.bound(kind, NotificationProtocolVersion="2")
        found = await notify.done("getBinding", BindingSid=made["sid"])
        notify.same(f"version of {kind}", found.get("notification_protocol_version"), "2")


@check("NTF-BIND-13", "credential and protocol version mean nothing to sms and chat-messenger")
async def neither(target: Target) -> None:
    notify = Notify(target)
    for kind in ("sms", "chat-messenger"):
        for given in (
            {},
            {"CredentialSid": CREDENTIAL, "NotificationProtocolVersion": "3"},
            {"CredentialSid": "no sid"},
        ):
            made = await notify.done("createBinding", **notify.new(kind, **given))
            seen = [made.get("credential_sid"), made.get("notification_protocol_version")]
            notify.same(f"what {kind} has of them", seen, [None, None])


@check("NTF-BIND-14", "20 tags are accepted, 21 are not")
async def most_tags(target: Target) -> None:
    notify = Notify(target)
    tags = [f"tag {number}" for number in range(21)]
    made = await notify.done("createBinding", **notify.new(Tag=tags[:20]))
    notify.same("tags", made.get("tags"), tags[:20])
    given = notify.new(Tag=tags)
    await notify.fails("createBinding", **given)
    await notify.lists("with 21 tags", [], Identity=given["Identity"])


@check("NTF-BIND-15", "Tag is a list or one text, of texts of 1 to 100 characters")
async def forms_of_tags(target: Target) -> None:
    notify = Notify(target)
    for given, wanted in (
        ("one", ["one"]),
        ({}, []),
        (["twice", "twice", "once"], ["twice", "once"]),
        (["x" * 100, "é" * 100], ["x" * 100, "é" * 100]),
        (["Case", "case"], ["Case", "case"]),
    ):
        made = await notify.done("createBinding", **notify.new(Tag=given))
        notify.same("tags", made.get("tags"), wanted)
    for wrong in ([""], ["x" * 101], ["same"] * 21, [1], {"a": "b"}, 7, [["a"]]):
        text = await notify.refused("createBinding", 400, **notify.new(Tag=wrong))
        expect.true("the error names Tag", "Tag" in text, text, notify.last)


@check("NTF-BIND-17", "a sid that no binding has is not found")
async def unknown(target: Target) -> None:
    notify = Notify(target)
    removed = (await notify.bound())["sid"]
    await notify.nothing("deleteBinding", BindingSid=removed)
    paths = ("..", ".", "a/b", "a%2Fb", "é", "BS 1", "a?b", "x" * 65)  # each would lead elsewhere
    for sid in (removed, f"BS{'0' * 32}", "BS", removed.upper(), f"{removed}0", *paths):
        await notify.refused("getBinding", 404, BindingSid=sid)
        await notify.refused("deleteBinding", 404, BindingSid=sid)


@check("NTF-BIND-18", "deleteBinding gives nil and deletes only this binding")
async def deleted(target: Target) -> None:
    notify = Notify(target)
    one = await notify.bound()
    other = await notify.bound(Identity=one["identity"])
    await notify.nothing("deleteBinding", BindingSid=one["sid"])
    await notify.fails("getBinding", BindingSid=one["sid"])
    await notify.fails("deleteBinding", BindingSid=one["sid"])
    await notify.lists("what is left", [other], Identity=one["identity"])


@check("NTF-BIND-19", "a binding replaces the one with the same endpoint in its service")
async def replaced(target: Target) -> None:
    notify, witness = Notify(target), Notify(target, WITNESS)
    old = await notify.bound(Tag=["old"])
    same = {"Endpoint": old["endpoint"], "Identity": old["identity"]}
    elsewhere = await witness.bound(**same)
    beside = await notify.bound(**same, ServiceSid=target.messaging_service(0, 1).sid)
    new = await notify.bound("fcm", **same, Tag=["new"])
    expect.true("the sid is a new one", new["sid"] != old["sid"], new["sid"], notify.last)
    await notify.fails("getBinding", BindingSid=old["sid"])
    await notify.lists("of the identity", [new], Identity=old["identity"])
    await notify.lists("with the old tag", [], Identity=old["identity"], Tag="old")
    await witness.lists("of the other account", [elsewhere], Identity=old["identity"])
    service = target.messaging_service(0, 1).sid
    await notify.lists("of the other service", [beside], Identity=old["identity"], ServiceSid=service)
    taken = await notify.bound("sms", Endpoint=old["endpoint"])
    await notify.lists("once somebody else has it", [], Identity=old["identity"])
    await notify.lists("of who has it now", [taken], Identity=taken["identity"])


@check("NTF-BIND-20", "an identity has at most 100 characters, whose case counts, and 20 bindings")
async def identities(target: Target) -> None:
    notify = Notify(target)
    identity = target.identity()
    longest = identity.ljust(100, "é")
    long = await notify.bound(Identity=longest)
    await notify.lists("of the longest", [long], Identity=longest)
    await notify.refused("createBinding", 400, **notify.new(Identity=longest + "x"))
    made = [await notify.bound(Identity=identity) for _ in range(20)]
    text = await notify.refused("createBinding", 400, **notify.new(Identity=identity))
    expect.true("the error names Identity", "Identity" in text, text, notify.last)
    for other in ({}, {"ServiceSid": target.messaging_service(0, 1).sid}):  # another account, another service
        await Notify(target, PROBE if other else WITNESS).done(
            "createBinding", **notify.new(Identity=identity, **other)
        )
    upper = await notify.bound(Identity=identity.upper())
    await notify.lists("of the identity", made, Identity=identity)
    await notify.lists("in capitals", [upper], Identity=identity.upper())
    await notify.nothing("deleteBinding", BindingSid=made[0]["sid"])
    again = await notify.done("createBinding", **notify.new(Identity=identity))
    await notify.lists("once there is space", [*made[1:], again], Identity=identity)
    renewed = notify.new("gcm", Identity=identity, Endpoint=again["endpoint"])
    other = await notify.done("createBinding", **renewed)
    await notify.lists("one in the place of another", [*made[1:], other], Identity=identity)
    await notify.refused("createBinding", 400, **{**renewed, "Endpoint": made[0]["endpoint"]})
    kept = {**renewed, "Identity": longest, "Endpoint": made[1]["endpoint"]}  # from one to another
    moved = await notify.done("createBinding", **kept)
    await notify.lists("what the identity has left", [*made[2:], other], Identity=identity)
    await notify.lists("what the other one has", [long, moved], Identity=longest)


@check("NTF-BIND-21", "two identities may share an address")
async def shared_address(target: Target) -> None:
    notify = Notify(target)
    one = await notify.bound("sms")
    other = await notify.bound("sms", Address=one["address"])
    third = await notify.bound("sms", Address=one["address"], Identity=one["identity"])
    notify.same("addresses", [other["address"], third["address"]], [one["address"]] * 2)
    await notify.lists("of the first", [one, third], Identity=one["identity"])
