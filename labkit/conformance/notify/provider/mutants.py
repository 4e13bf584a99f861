"""Faults of how Notify is called, and of whose credentials count."""

from __future__ import annotations

import json
from typing import Any

from labkit.conformance.faults import CALL, failed, gives
from labkit.conformance.mutant import mutant
from labkit.conformance.notify.faults import parameters, renamed, results
from labkit.core.errors import ServiceError

CREDENTIALS = "labkit.services.notify.service:credentials"
AUTHENTICATED = "labkit.providers.messaging.accounts:Accounts.authenticated"
SERVICE = "labkit.providers.messaging.accounts:Account.service"
ASK = "labkit.services.notify.upstream:Upstream.ask"


@mutant("NTF-CALL-1", CALL)
def nothing_given(original: Any) -> Any:
    """calls give nothing"""
    return gives(original, "Notify", lambda called, result: None)


@mutant("NTF-CALL-1", CALL)
def table_for_nothing(original: Any) -> Any:
    """deleteBinding gives a table"""
    return gives(original, "Notify", lambda called, result: {} if result is None else result)


@mutant("NTF-CALL-2", CALL)
def chat_by_another_name(original: Any) -> Any:
    """the field of the notification is called as its parameter is"""
    return results(original, lambda sent: renamed(sent, "chat_messenger", "ChatMessenger"), "send")


@mutant("NTF-CALL-2", CALL)
def chat_by_another_word(original: Any) -> Any:
    """the channel has an underscore"""
    return results(
        original, lambda made: {**made, "binding_type": str(made.get("binding_type")).replace("-", "_")}
    )


@mutant("NTF-CALL-3 NTF-CALL-4", CREDENTIALS)
def call_is_enough(original: Any) -> Any:
    """credentials of the call are enough"""
    return lambda configured, account, token: (
        account or "",
        "" if token is None else token.get_secret_value(),
    )


@mutant("NTF-CALL-5", AUTHENTICATED)
def token_unread(original: Any) -> Any:
    """whoever names an account is let in"""

    def broken(self: Any, header: str) -> Any:
        from base64 import b64decode

        login = b64decode(header.split()[1]).decode().partition(":")[0]
        found = next((each for each in self if each.sid == login), None)
        return found or original(self, header)

    return broken


@mutant("NTF-CALL-5", CALL)
def no_credentials_taken(original: Any) -> Any:
    """no credentials are taken but those of the configuration"""
    return parameters(
        original,
        lambda given: {name: each for name, each in given.items() if name not in ("AccountSid", "AuthToken")},
    )


@mutant("NTF-CALL-6", CREDENTIALS)
def configured_alone(original: Any) -> Any:
    """credentials of the configuration override those of the call"""

    def broken(configured: Any, account: Any, token: Any) -> Any:
        original(configured, account, token)
        return configured["AccountSid"], configured["AuthToken"]

    return broken


@mutant("NTF-CALL-7", "labkit.providers.messaging.bindings:fetch")
def any_service(original: Any) -> Any:
    """a binding is found in every service"""

    def broken(connection: Any, service: str, sid: str) -> Any:
        from labkit.core.database import execute

        query = "SELECT service FROM messaging_binding WHERE sid = ?"
        found = execute(connection, query, (sid,)).fetchone()
        return original(connection, found[0] if found else service, sid)

    return broken


@mutant("NTF-CALL-9", CALL)
def status_is_text(original: Any) -> Any:
    """the status of an error is a text"""
    return gives(
        original,
        "Notify",
        lambda called, result: {**result, "status": str(result["status"])} if failed(result) else result,
    )


@mutant("NTF-CALL-9", CALL)
def error_is_object(original: Any) -> Any:
    """error is an object"""
    return gives(
        original,
        "Notify",
        lambda called, result: (
            {**result, "error": {"message": result["error"]}} if failed(result) else result
        ),
    )


@mutant("NTF-CALL-9", CALL)
def raises(original: Any) -> Any:
    """an operation that fails raises"""

    def check(called: str, result: Any) -> Any:
        if failed(result):
            raise ValueError(result["error"])
        return result

    return gives(original, "Notify", check)


@mutant("NTF-CALL-10", ASK)
def code_kept_back(original: Any) -> Any:
    """the error has the provider's message alone"""

    async def broken(self: Any, *args: Any) -> Any:
        try:
            return await original(self, *args)
        except ServiceError as error:
            text = json.loads(error.message)["message"] if error.message.startswith("{") else error.message
            raise ServiceError(error.status, text) from None

    return broken


@mutant("NTF-CALL-12", SERVICE)
def services_shared(original: Any) -> Any:
    """an account may use the services of all"""

    def broken(self: Any, sid: str) -> Any:
        from labkit.providers.messaging.accounts import Service

        return self.services.get(sid) or Service(sid, self.sid, None, {})

    return broken


@mutant("NTF-CALL-13", "labkit.services.operation:Operation.shown")
def values_shown(original: Any) -> Any:
    """the journal has what is sent"""
    return lambda self, parameters, **_: original(self, parameters, values=True)
