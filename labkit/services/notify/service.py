"""Notify: bindings of identities to devices, phones and chats, and notifications to them (document 3).

The provider stores the bindings and delivers; Notify validates the arguments and calls the provider over HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.http.outbound import CAUSE
from labkit.services.notify.arguments import (
    BodyText,
    Channel,
    Identities,
    Line,
    ListedIdentities,
    Login,
    Name,
    PageLength,
    PageNumber,
    PayloadText,
    Seconds,
    Tags,
    TitleText,
    Token,
    Urgency,
)
from labkit.services.notify.upstream import Fields, Upstream, binding, notification
from labkit.services.operation import Caller, Service, operation

HOST = "messaging"  # the subdomain of the lab's own provider
CREDENTIALS = ("AccountSid", "AuthToken")
PUSH = ("apn", "fcm", "gcm")


class Notify(Service):
    """Service that sends notifications over SMS, mobile push and a chat-messenger channel.

    The service's configuration must contain AccountSid and AuthToken; arguments of a call override them.
    ServiceSid is the notify service; it may be configured too. If the provider refuses a request, the `error` of the
    error object is JSON text {code, message, more_info, status}.
    """

    name: ClassVar[str] = "Notify"

    def __init__(self, context: Context) -> None:
        self._context = context

    @operation
    async def createBinding(
        self,
        caller: Caller,
        ServiceSid: Name,
        Identity: Name,
        Endpoint: Name,
        BindingType: Channel,
        Address: Line,
        Tag: Tags = (),
        CredentialSid: Name | None = None,
        NotificationProtocolVersion: Name | None = None,
        AccountSid: Login | None = None,
        AuthToken: Token | None = None,
    ) -> dict[str, Any]:
        """Bind an identity to an address: a device token, a phone number in E.164 format, a messenger id.

        Returns the binding, which replaces one of the same Endpoint. Tag: one or a list, at most 20. CredentialSid
        overrides the service's; it and NotificationProtocolVersion apply to apn, fcm and gcm, and are ignored
        otherwise.
        """
        fields: dict[str, object] = {
            "Identity": Identity,
            "Endpoint": Endpoint,
            "BindingType": BindingType,
            "Address": Address,
            "Tag": Tag,
        }
        if BindingType in PUSH:
            fields["CredentialSid"] = CredentialSid
            fields["NotificationProtocolVersion"] = NotificationProtocolVersion
        upstream = self._upstream(caller, AccountSid, AuthToken)
        return binding(await upstream.request("POST", ServiceSid, ("Bindings",), fields))

    @operation
    async def getBinding(
        self,
        caller: Caller,
        ServiceSid: Name,
        BindingSid: Name,
        AccountSid: Login | None = None,
        AuthToken: Token | None = None,
    ) -> dict[str, Any]:
        """Return the binding with a sid. 404 if the service has none."""
        upstream = self._upstream(caller, AccountSid, AuthToken)
        return binding(await upstream.request("GET", ServiceSid, ("Bindings", BindingSid), {}))

    @operation
    async def deleteBinding(
        self,
        caller: Caller,
        ServiceSid: Name,
        BindingSid: Name,
        AccountSid: Login | None = None,
        AuthToken: Token | None = None,
    ) -> None:
        """Delete a binding. 404 if the service has none with this sid."""
        upstream = self._upstream(caller, AccountSid, AuthToken)
        await upstream.request("DELETE", ServiceSid, ("Bindings", BindingSid), {})

    @operation
    async def listBinding(
        self,
        caller: Caller,
        ServiceSid: Name,
        Identity: ListedIdentities = (),
        Tag: Tags = (),
        StartDate: Name | None = None,
        EndDate: Name | None = None,
        PageSize: PageLength | None = None,
        Page: PageNumber | None = None,
        AccountSid: Login | None = None,
        AuthToken: Token | None = None,
    ) -> dict[str, Any]:
        """List the bindings with any of the identities and all of the tags, newest first, as {meta, bindings}.

        StartDate, EndDate: YYYY-MM-DD in UTC, the first and the last day of creation. PageSize: at most 1000; Page:
        from 0.
        """
        fields: Fields = {
            "Identity": Identity,
            "Tag": Tag,
            "StartDate": StartDate,
            "EndDate": EndDate,
            "PageSize": PageSize,
            "Page": Page,
        }
        upstream = self._upstream(caller, AccountSid, AuthToken)
        found = await upstream.request("GET", ServiceSid, ("Bindings",), fields)
        listed = found.get("bindings")
        if isinstance(listed, list):
            found["bindings"] = [binding(each) if isinstance(each, dict) else each for each in listed]
        return found

    @operation
    async def send(
        self,
        caller: Caller,
        ServiceSid: Name,
        Identity: Identities = (),
        Tag: Tags = (),
        Body: BodyText = None,
        Title: TitleText = None,
        Sound: Line | None = None,
        Action: Line | None = None,
        Data: PayloadText = None,
        Priority: Urgency | None = None,
        Ttl: Seconds | None = None,
        Apn: PayloadText = None,
        Fcm: PayloadText = None,
        Gcm: PayloadText = None,
        Sms: PayloadText = None,
        ChatMessenger: PayloadText = None,
        AccountSid: Login | None = None,
        AuthToken: Token | None = None,
    ) -> dict[str, Any]:
        """Notify the bindings with any of the identities and all of the tags. Returns the notification.

        Identity, Tag: one or a list, at most 20 each; every binding has the tags `all` and its own type. Data, Apn,
        Fcm, Gcm, Sms, ChatMessenger: an object, or one as JSON text; keys of Data, those of nested objects included,
        must not begin with twi. Priority: low or high. Ttl: seconds up to 4
        weeks, which is the default; 0 is one attempt.
        """
        fields: Fields = {
            "Identity": Identity,
            "Tag": Tag,
            "Body": Body,
            "Title": Title,
            "Sound": Sound,
            "Action": Action,
            "Data": Data,
            "Priority": Priority,
            "Ttl": Ttl,
            "Apn": Apn,
            "Fcm": Fcm,
            "Gcm": Gcm,
            "Sms": Sms,
            "ChatMessenger": ChatMessenger,
        }
        upstream = self._upstream(caller, AccountSid, AuthToken)
        return notification(await upstream.request("POST", ServiceSid, ("Notifications",), fields))

    def _upstream(self, caller: Caller, account: str | None, token: Token | None) -> Upstream:
        """Return the provider's client. Raises ServiceError 400 if the configuration has no credentials."""
        configured = self._context.configuration.get(caller.solution, {}).get(self.name, {})
        login, password = credentials(configured, account, token)
        outside = self._context.settings.providers.messaging.outside
        base = outside or self._context.url(f"{HOST}.{self._context.settings.domain}")
        # The lab's own provider records this call as the cause of its deliveries.
        headers = {} if outside or caller.cause is None else {CAUSE: str(caller.cause)}
        return Upstream(self._context.outbound, base.rstrip("/"), login, password, headers)


def credentials(
    configured: Mapping[str, object], account: str | None, token: Token | None
) -> tuple[str, str]:
    """Return login and password of a call, whose `account` and `token` may come from the configuration.

    Raises ServiceError 400 if the configuration does not contain both (document 3, What the service does, item
    2).
    """
    missing = [name for name in CREDENTIALS if configured.get(name) in (None, "")]
    if missing or account is None or token is None:
        raise ServiceError(
            400,
            f"The configuration of the service Notify has to hold AccountSid and AuthToken: "
            f"{' and '.join(missing or CREDENTIALS)} {'is' if len(missing) == 1 else 'are'} not there.",
        )
    return account, token.get_secret_value()
