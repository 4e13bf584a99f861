"""Services by attribute, for Python: `services.Keystore.get(key="x")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from labkit.core.errors import unknown
from labkit.services.operation import Operation

Operations = Callable[[], Mapping[str, Mapping[str, Operation]]]
Call = Callable[[str, str, object], Any]


class ServicesProxy:
    """Namespace of the services that a solution may call, each as an attribute.

    operations: returns the existing operations by service and name; call: calls an operation, given service, operation
    and parameters, and returns its result or an awaitable. A failed call does not raise a
    platform error, but returns the error object, as in a script; so does a call of an unknown service or operation.
    """

    def __init__(self, operations: Operations, call: Call) -> None:
        self._operations = operations
        self._call = call

    def __getattr__(self, name: str) -> ServiceProxy:
        if not name[:1].isupper():  # Python and notebooks probe objects for lower-case attributes
            raise AttributeError(unknown("service", name, self._operations()))
        return ServiceProxy(name, self._operations, self._call)

    def __dir__(self) -> list[str]:
        return list(self._operations())

    def __repr__(self) -> str:
        return f"<services {', '.join(self._operations())}>"


class ServiceProxy:
    """Service with its operations as methods, which accept keyword arguments or one mapping."""

    def __init__(self, name: str, operations: Operations, call: Call) -> None:
        self._name = name
        self._operations = operations
        self._call = call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(parameters: Mapping[str, object] | None = None, /, **named: object) -> Any:
            # A Python keyword, such as `from`, is written with an underscore: `from_`.
            given = {**(parameters or {}), **{key.rstrip("_"): value for key, value in named.items()}}
            return self._call(self._name, name, given)

        call.__name__, call.__qualname__ = name, f"{self._name}.{name}"
        declared = self._operations().get(self._name, {}).get(name)
        if declared is not None:
            call.__doc__ = declared.doc
            call.__signature__ = declared.shown_signature  # type: ignore[attr-defined]
        return call

    def __dir__(self) -> list[str]:
        return list(self._operations().get(self._name, {}))

    def __repr__(self) -> str:
        return f"<service {self._name}: {', '.join(dir(self))}>"
