"""Environment of Notify's tests: the service, and a provider whose answers a test sets."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from labkit.services.calls import Services
from labkit.services.notify.service import Notify
from labkit.services.operation import Caller
from tests.context import Entry, FakeOutbound, make_context

ACCOUNT = {"AccountSid": f"AC{'1' * 32}", "AuthToken": "token of acme", "ServiceSid": f"IS{'2' * 32}"}
OTHER = {"AccountSid": f"AC{'a' * 32}", "AuthToken": "token of other", "ServiceSid": f"IS{'b' * 32}"}
BINDING = {
    "Identity": "ann",
    "Endpoint": "phone",
    "BindingType": "sms",
    "Address": "+15005550001",
}


class Environment:
    """The Notify service of two solutions, `acme` and `other`, each with an account."""

    def __init__(self, outside: str | None = None) -> None:
        self.context = make_context(
            Entry("acme"), Entry("other"), providers={"messaging": {"outside": outside}}
        )
        self.context.configuration.update(acme={"Notify": dict(ACCOUNT)}, other={"Notify": dict(OTHER)})
        assert isinstance(self.context.outbound, FakeOutbound)
        self.web = self.context.outbound
        self.services = Services(self.context, [Notify(self.context)])

    def set_answer(
        self, path: str, status: int, answer: object, service: str = ACCOUNT["ServiceSid"]
    ) -> None:
        """Set the provider's answer to requests for a path below a service; text is sent as it is, None: no answer."""
        text = answer if isinstance(answer, str) else json.dumps(answer)
        url = self.context.url("messaging.lab.localhost", f"/v1/Services/{service}/{path}")
        self.web.answers[url] = None if answer is None else (status, text)

    async def call(self, operation: str, /, solution: str = "acme", **parameters: Any) -> Any:
        """Return the result of `Notify.<operation>`, or its error object."""
        return await self.services.call(Caller(solution), "Notify", operation, parameters)

    async def refused(self, operation: str, status: int, /, **parameters: Any) -> str:
        """Return the text of a call's error, which must have this status."""
        result = await self.call(operation, **parameters)
        assert isinstance(result, dict), result
        assert result.keys() == {"type", "error", "status", "status_code"}, result
        assert result["status"] == result["status_code"] == status, result
        assert result["type"] == ("QueryError" if status < 500 else "ServerError")
        return str(result["error"])

    @property
    def form(self) -> dict[str, list[str]]:
        """Return the form of the newest request, or its query."""
        _, url, _, body = self.web.requests[-1]
        found: dict[str, list[str]] = {}
        for name, value in parse_qsl(url.partition("?")[2] if body is None else body, keep_blank_values=True):
            found.setdefault(name, []).append(value)
        return found
