"""Faults of bindings."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import CALL, gives
from labkit.conformance.mutant import mutant
from labkit.conformance.notify.faults import Table, bindings, parameters, results, without

CREATE = "createBinding"
DELETE = "labkit.providers.messaging.bindings:delete"
DEFAULTS = {"Identity": "nobody", "Endpoint": "anywhere", "BindingType": "apn", "Address": "nowhere"}


@mutant("NTF-BIND-1", CALL)
def sid_alone(original: Any) -> Any:
    """createBinding gives the sid and no more of the binding"""
    return results(original, lambda made: {"sid": made["sid"]}, CREATE)


@mutant("NTF-BIND-1 NTF-BIND-4", CALL)
def made_without_url(original: Any) -> Any:
    """a binding has no URL once it is asked for"""
    return results(original, lambda found: without(found, "url"), "getBinding")


@mutant("NTF-BIND-2", CALL)
def nothing_required(original: Any) -> Any:
    """what is missing is made up"""
    return parameters(
        original,
        lambda given: {**DEFAULTS, **{name: each for name, each in given.items() if each != ""}},
        CREATE,
    )


@mutant("NTF-BIND-3", CALL)
def short_sids(original: Any) -> Any:
    """sids of accounts and services lose a character"""
    return bindings(
        original,
        lambda made: {
            **made,
            "account_sid": made["account_sid"][:-1],
            "service_sid": made["service_sid"][:-1],
        },
    )


@mutant("NTF-BIND-3 NTF-BIND-4", CALL)
def one_sid(original: Any) -> Any:
    """all bindings show one sid and one URL"""
    return bindings(
        original, lambda made: {**made, "sid": f"BS{'0' * 32}", "url": "https://messaging.localhost/"}
    )


@mutant("NTF-BIND-5", CALL)
def tags_sorted_out(original: Any) -> Any:
    """of the tags the first alone is kept"""
    return parameters(
        original,
        lambda given: {**given, "Tag": given["Tag"][:1]} if isinstance(given.get("Tag"), list) else given,
        CREATE,
    )


@mutant("NTF-BIND-5", CALL)
def implicit_shown(original: Any) -> Any:
    """tags have the implicit ones too"""
    return bindings(original, lambda made: {**made, "tags": [*made["tags"], "all"]})


@mutant("NTF-BIND-6", CALL)
def identity_folded(original: Any) -> Any:
    """identities are kept in small letters and without spaces around"""
    return parameters(
        original, lambda given: {**given, "Identity": str(given.get("Identity")).strip().lower()}, CREATE
    )


@mutant("NTF-BIND-6", CALL)
def endpoint_lost(original: Any) -> Any:
    """endpoint is the sid of the binding"""
    return bindings(original, lambda made: {**made, "endpoint": made["sid"]})


@mutant("NTF-BIND-6", CALL)
def address_hidden(original: Any) -> Any:
    """of an address the end is hidden"""
    return bindings(original, lambda made: {**made, "address": made["address"][:-4] + "****"})


@mutant("NTF-BIND-6 NTF-BIND-7", CALL)
def push_is_push(original: Any) -> Any:
    """gcm is taken for fcm"""
    return parameters(
        original,
        lambda given: {**given, "BindingType": "fcm"} if given.get("BindingType") == "gcm" else given,
        CREATE,
    )


@mutant("NTF-BIND-7", CALL)
def any_type(original: Any) -> Any:
    """a type that nobody knows is taken for apn"""

    def broken(given: Table) -> Table:
        known = given.get("BindingType") in ("apn", "fcm", "gcm", "sms", "chat-messenger", None)
        return given if known else {**given, "BindingType": "apn"}

    return parameters(original, broken, CREATE)


@mutant("NTF-BIND-8", CALL)
def numbers_mended(original: Any) -> Any:
    """what is no phone number is made one"""

    def broken(given: Table) -> Table:
        digits = "".join(each for each in str(given.get("Address")) if each in "0123456789").lstrip("0")[:15]
        return (
            {**given, "Address": f"+{digits or 15005550001}"} if given.get("BindingType") == "sms" else given
        )

    return parameters(original, broken, CREATE)


@mutant("NTF-BIND-10", "labkit.services.notify.upstream:rfc2822")
def iso_dates(original: Any) -> Any:
    """dates stay in the form of ISO 8601"""
    return lambda date: date


@mutant("NTF-BIND-10", "labkit.services.notify.upstream:rfc2822")
def no_zone(original: Any) -> Any:
    """dates have no zone"""
    return lambda date: str(original(date)).removesuffix(" +0000")


@mutant("NTF-BIND-10", "labkit.services.notify.upstream:rfc2822")
def hour_late(original: Any) -> Any:
    """dates are those of another zone"""
    return lambda date: str(original(date)).replace("+0000", "+0100")


@mutant("NTF-BIND-10", "labkit.providers.messaging.resources:iso")
def seconds_lost(original: Any) -> Any:
    """dates are those of the full minute"""
    return lambda second: original(second // 60 * 60)


@mutant("NTF-BIND-11", CALL)
def credential_of_the_service(original: Any) -> Any:
    """CredentialSid is ignored"""
    return parameters(original, lambda given: without(given, "CredentialSid"), CREATE)


@mutant("NTF-BIND-11", CALL)
def no_credential(original: Any) -> Any:
    """the service's credential is not used"""
    return bindings(
        original,
        lambda made: made if made["credential_sid"] == f"CR{'1' * 32}" else {**made, "credential_sid": None},
    )


@mutant("NTF-BIND-12", CALL)
def protocol_of_the_service(original: Any) -> Any:
    """NotificationProtocolVersion is ignored"""
    return parameters(original, lambda given: without(given, "NotificationProtocolVersion"), CREATE)


@mutant("NTF-BIND-12", CALL)
def default_protocol(original: Any) -> Any:
    """the version is called default"""
    return bindings(
        original,
        lambda made: (
            {**made, "notification_protocol_version": "default"}
            if made["notification_protocol_version"] == "3"
            else made
        ),
    )


@mutant("NTF-BIND-14", CALL)
def tag_dropped(original: Any) -> Any:
    """of more than 20 tags the first 20 are taken"""
    return parameters(
        original,
        lambda given: {**given, "Tag": given["Tag"][:20]} if isinstance(given.get("Tag"), list) else given,
        CREATE,
    )


@mutant("NTF-BIND-14", CALL)
def nineteen_tags(original: Any) -> Any:
    """of 20 tags 19 are taken"""
    return parameters(
        original,
        lambda given: (
            {**given, "Tag": given["Tag"][:19]}
            if isinstance(given.get("Tag"), list) and len(given["Tag"]) == 20
            else given
        ),
        CREATE,
    )


@mutant("NTF-BIND-18", DELETE)
def kept(original: Any) -> Any:
    """what is deleted is still there"""
    from labkit.providers.messaging.bindings import fetch

    return lambda connection, service, sid: fetch(connection, service, sid) is not None


@mutant("NTF-BIND-18", DELETE)
def identity_deleted(original: Any) -> Any:
    """with a binding all of its identity go"""

    def broken(connection: Any, service: str, sid: str) -> Any:
        from labkit.providers.messaging.bindings import Selection, fetch, select

        found = fetch(connection, service, sid)
        if found is None:
            return False
        doomed = select(connection, service, Selection((found.identity,)))
        return all(original(connection, service, each.sid) for each in doomed)

    return broken


@mutant("NTF-BIND-18", CALL)
def deleted_table(original: Any) -> Any:
    """deleteBinding gives a table"""
    return gives(
        original,
        "Notify",
        lambda called, result: {} if called == "deleteBinding" and result is None else result,
    )
