"""Errors of remote procedure calls, in the form of the older service."""

from __future__ import annotations

from labkit.core.errors import ServiceError

MALFORMED, UNAUTHORIZED, NOT_SUPPORTED = 400, 401, 501


class RpcError(ServiceError):
    """Error of a request, or of one call in it.

    code: 400 malformed, 401 credentials, 501 arguments or procedure not supported; context: the part that is wrong,
    `auth`, `calls`, `procedure` or `arguments`; outcome: status of the call.
    """

    def __init__(self, code: int, message: str, context: str, outcome: str = "invalid") -> None:
        super().__init__(code, message)
        self.context = context
        self.outcome = outcome

    def as_object(self) -> dict[str, object]:
        """Return the error object of a request that fails as a whole; its `error` is a table."""
        return {**super().as_object(), "error": self.detail()}

    def detail(self) -> dict[str, object]:
        """Return code, message and context."""
        return {"code": self.status, "message": self.message, "context": self.context}


def wrong_argument(message: str) -> RpcError:
    """Return the error of a call whose arguments its procedure does not support."""
    return RpcError(NOT_SUPPORTED, message, "arguments")
