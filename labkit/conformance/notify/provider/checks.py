"""Notify: calls from scripts, precedence of credentials, errors, and isolation of solutions."""

from __future__ import annotations

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.notifications import Notify
from labkit.conformance.probe import WITNESS, Table
from labkit.conformance.target import Target

UNCONFIGURED = "guide"  # a solution for which lab.yaml configures no Notify
NOBODY = {"AccountSid": f"AC{'0' * 32}", "AuthToken": "nobody's"}


def all_operations(notify: Notify, binding: Table) -> tuple[tuple[str, Table], ...]:
    """Return every operation with parameters that let it succeed; the one that deletes the binding comes last."""
    return (
        ("createBinding", notify.new()),
        ("getBinding", {"BindingSid": binding["sid"]}),
        ("listBinding", {"Identity": binding["identity"]}),
        ("send", {"Identity": binding["identity"], "Body": "a body"}),
        ("deleteBinding", {"BindingSid": binding["sid"]}),
    )


@check("NTF-CALL-1", "a script calls operations with a table, and the call returns their result")
async def called(target: Target) -> None:
    notify = Notify(target)
    given = notify.new()
    made = await notify.done("createBinding", **given)
    notify.same("identity", made.get("identity"), given["Identity"])
    found = await notify.done("getBinding", BindingSid=made["sid"])
    notify.same("what getBinding gives", found.get("sid"), made["sid"])
    await notify.nothing("deleteBinding", BindingSid=made["sid"])


@check("NTF-CALL-2", "channel, parameter and field of the chat messenger have their names")
async def chat_names(target: Target) -> None:
    notify = Notify(target)
    made = await notify.done("createBinding", **notify.new("chat-messenger"))
    notify.same("binding_type", made.get("binding_type"), "chat-messenger")
    sent = await notify.send(Identity=made["identity"], ChatMessenger={"body": "its own"})
    notify.same("chat_messenger", sent.get("chat_messenger"), {"body": "its own"})


@check("NTF-CALL-3", "a solution whose configuration holds no credentials can call nothing")
async def unconfigured(target: Target) -> None:
    owner, stranger = Notify(target), Notify(target, UNCONFIGURED)
    made = await owner.bound()
    for operation, parameters in all_operations(owner, made):
        await stranger.fails(operation, **{**owner.configured, **parameters})
    await owner.lists("the binding is there", [made], Identity=made["identity"])


@check("NTF-CALL-4", "the error without credentials names the missing configuration")
async def credentials_in_provider_object(target: Target) -> None:
    owner, stranger = Notify(target), Notify(target, UNCONFIGURED)
    made = await owner.bound()
    for operation, parameters in all_operations(owner, made):
        for credentials in ({}, owner.configured):
            given = {**parameters, **credentials, "ServiceSid": owner.configured["ServiceSid"]}
            text = await stranger.refused(operation, 400, **given)
            named = "AccountSid" in text and "AuthToken" in text
            expect.true("the error names AccountSid and AuthToken", named, text, stranger.last)


@check("NTF-CALL-5", "each operation accepts credentials, and fails with unknown ones")
async def credentials(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound()
    own = {name: notify.configured[name] for name in NOBODY}
    for wrong in (
        NOBODY,
        {**own, "AuthToken": NOBODY["AuthToken"]},
        {**NOBODY, "AuthToken": own["AuthToken"]},
    ):
        for operation, parameters in all_operations(notify, made):
            await notify.fails(operation, **parameters, **wrong)
    for wrong in ({"AuthToken": own["AuthToken"].upper()}, {"AuthToken": f"{own['AuthToken']} "}):
        await notify.fails("getBinding", BindingSid=made["sid"], **wrong)
    for operation, parameters in all_operations(notify, made):
        kind, result = await notify.call("Notify", operation, {**parameters, **own})
        worked = kind in ("nil", "table") and "error" not in (result or {})
        expect.true(f"{operation} works with the account's credentials", worked, result, notify.last)


@check("NTF-CALL-6", "credentials of a call override those of the configuration, for that call")
async def overridden(target: Target) -> None:
    ours, theirs = Notify(target), Notify(target, WITNESS)
    made = await theirs.bound()
    found = await ours.done("getBinding", BindingSid=made["sid"], **theirs.configured)
    ours.same("what their credentials lead to", found, made)
    await ours.fails("getBinding", BindingSid=made["sid"])
    await ours.fails("getBinding", BindingSid=made["sid"], ServiceSid=theirs.configured["ServiceSid"])
    token = {"AuthToken": theirs.configured["AuthToken"]}
    await ours.fails("getBinding", BindingSid=(await ours.bound())["sid"], **token)


@check("NTF-CALL-7", "a binding is found in the service in which it was made, and in no other")
async def services(target: Target) -> None:
    notify = Notify(target)
    first, second = (target.messaging_service(0, number).sid for number in (0, 1))
    for here, there in ((first, second), (second, first)):
        made = await notify.bound(ServiceSid=here)
        notify.same("service_sid", made.get("service_sid"), here)
        await notify.fails("getBinding", BindingSid=made["sid"], ServiceSid=there)
        await notify.fails("deleteBinding", BindingSid=made["sid"], ServiceSid=there)
        found = await notify.done("getBinding", BindingSid=made["sid"], ServiceSid=here)
        notify.same("what is found", found.get("sid"), made["sid"])
        await notify.lists("in the other one", [], Identity=made["identity"], ServiceSid=there)


@check("NTF-CALL-8", "ServiceSid comes from the configuration, and is required if it is missing there")
async def service_named(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound()
    notify.same("service_sid", made.get("service_sid"), notify.configured["ServiceSid"])
    stranger = Notify(target, UNCONFIGURED)
    for operation, parameters in all_operations(notify, made):
        text = await stranger.refused(operation, 400, **parameters)
        stranger.same("error", text, "Parameter ServiceSid is required.")


@check("NTF-CALL-9", "operations that fail give type, error and status")
async def errors(target: Target) -> None:
    notify = Notify(target)
    nothing = f"BS{'0' * 32}"
    for operation, parameters in (
        ("createBinding", {}),
        ("createBinding", notify.new(BindingType="pigeon")),
        ("getBinding", {"BindingSid": nothing}),
        ("deleteBinding", {"BindingSid": nothing}),
        ("listBinding", {"Tag": [str(each) for each in range(21)]}),
        ("send", {"Identity": "nobody", "Data": {"twi": 1}}),
        ("send", {"Identity": "nobody", **NOBODY}),
        ("send", {"Identity": "nobody", "ServiceSid": f"IS{'0' * 32}"}),
    ):
        error = await notify.fails(operation, **parameters)
        for name in ("type", "error"):
            filled = isinstance(error[name], str) and error[name] != ""
            expect.true(f"{name} is a text", filled, error, notify.last)
        expect.true("status is a whole number", type(error["status"]) is int, error, notify.last)
        expect.true("which is one of an error", 400 <= error["status"] <= 599, error, notify.last)


@check("NTF-CALL-10", "what the provider refuses has its status, and its code in JSON text")
async def provider_errors(target: Target) -> None:
    notify = Notify(target)
    sid = (await Notify(target, WITNESS).bound())["sid"]
    nothing = {"BindingSid": sid}
    for operation, parameters, status, code in (
        ("getBinding", {**nothing, **NOBODY}, 401, 20003),
        ("send", {"Tag": "all", "AuthToken": "wrong"}, 401, 20003),
        ("getBinding", nothing, 404, 20404),
        ("deleteBinding", nothing, 404, 20404),
        ("listBinding", {"ServiceSid": f"IS{'0' * 32}"}, 404, 20404),
        ("send", {"Tag": "all", "ServiceSid": Notify(target, WITNESS).configured["ServiceSid"]}, 404, 20404),
        ("send", {"Tag": "all", "ServiceSid": "../Services"}, 404, 20404),
    ):
        found = await notify.refused_upstream(operation, status, **parameters)
        notify.same("code and status", [found.get("code"), found.get("status")], [code, status])
        filled = isinstance(found.get("message"), str) and "more_info" in found
        expect.true("it has message and more_info", filled, found, notify.last)


@check("NTF-CALL-11", "a provider that gives no answer is an error of its own", needs={"handsets"})
async def provider_down(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound()
    for operation, parameters in all_operations(notify, made):
        await target.in_lab(target.lab.messaging.fault, "down")
        await notify.refused(operation, 502, **parameters)
    found = await notify.done("getBinding", BindingSid=made["sid"])
    notify.same("once it is back", found, made)


@check("NTF-CALL-11", "a provider in trouble is an error with its status", needs={"handsets"})
async def provider_in_trouble(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound()
    for operation, parameters in all_operations(notify, made)[:-1]:
        for fault, status in (("malformed JSON", 502), ("server error", 503), ("rate limited", 429)):
            await target.in_lab(target.lab.messaging.fault, fault)
            await notify.refused(operation, status, **parameters)
    found = await notify.done("getBinding", BindingSid=made["sid"])
    notify.same("once it is back", found, made)


@check("NTF-CALL-12", "one account neither sees nor reaches the bindings of another")
async def tenants(target: Target) -> None:
    ours, theirs = Notify(target), Notify(target, WITNESS)
    mine = await ours.bound(Tag=["shared"])
    copied = {name: mine[name.lower()] for name in ("Identity", "Endpoint", "Address")}
    yours = await theirs.done("createBinding", **copied, BindingType="apn", Tag=["shared"])
    for one, other, own, foreign in ((ours, theirs, mine, yours), (theirs, ours, yours, mine)):
        await one.lists("of the identity", [own], Identity=own["identity"])
        expect.true("lists by tag", foreign["sid"] not in await one.sids(Tag="shared"), "listed", one.last)
        await one.fails("getBinding", BindingSid=foreign["sid"])
        await one.fails("deleteBinding", BindingSid=foreign["sid"])
        service = {"ServiceSid": other.configured["ServiceSid"]}
        for operation, parameters in all_operations(other, foreign):
            await one.fails(operation, **parameters, **service)
        other.same("the other's", await other.done("getBinding", BindingSid=foreign["sid"]), foreign)


@check(
    "NTF-CALL-12",
    "a send of one account does not reach another's bindings of the same names",
    needs={"handsets"},
)
async def sends_apart(target: Target) -> None:
    ours, theirs = Notify(target), Notify(target, WITNESS)
    mine = await ours.bound(Tag=["shared"])
    yours = await theirs.bound(Identity=mine["identity"], Endpoint=mine["endpoint"], Tag=["shared"])
    await ours.reaches("by identity", [mine], [yours], Identity=mine["identity"])
    await ours.reaches("by tag", [mine], [yours], Tag=["shared", "apn"])
    await theirs.reaches("by tag", [yours], [mine], Tag=["shared"])


@check("NTF-CALL-13", "the journal has neither tokens nor what is sent", needs={"journal"})
async def journal(target: Target) -> None:
    notify = Notify(target)
    made = await notify.bound()
    said = f"said to {target.identity()}"
    texts = {"Body": said, "Title": said, "Data": {"a": said}, "Apn": {"b": said}, "Sms": {"body": said}}
    await notify.send(Identity=made["identity"], **texts, **notify.configured)
    await notify.fails("send", Identity=made["identity"], **texts, **NOBODY)
    await notify.fails("send", Identity=made["identity"], Ttl=-1, **texts, **notify.configured)
    written = await target.journaled_calls("Notify.")
    expect.true("the journal has the calls", made["identity"] in written, "nothing of them")
    for secret in (notify.configured["AuthToken"], NOBODY["AuthToken"], said):
        expect.true("the journal shows none of it", secret not in written, "a text or a token")
    expect.true("it has lengths", f"<{len(said)} characters>" in written, "none")
