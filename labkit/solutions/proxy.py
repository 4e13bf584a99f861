"""Services by attribute, for Python: `services.Keystore.get(key="x")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from labkit.core.errors import unknown
from labkit.services.operation import Operation
from labkit.services.type_names import with_type_names

Operations = Callable[[], Mapping[str, Mapping[str, Operation]]]
Call = Callable[[str, str, object], Any]


class Services:
    """Every service that a solution may call, as an attribute.

    operations: what there is; call: calls one, by service, operation and parameters. What `call` gives, the
    caller gets: a result, or something to await. It never raises for a platform error: also an unknown
    service or operation gives the error object, as it does in a script.
    """

    def __init__(self, operations: Operations, call: Call) -> None:
        self._operations = operations
        self._call = call

    def __getattr__(self, name: str) -> Service:
        if not name[:1].isupper():  # what Python itself and notebooks probe for
            raise AttributeError(unknown("service", name, self._operations()))
        return Service(name, self._operations, self._call)

    def __dir__(self) -> list[str]:
        return list(self._operations())

    def __repr__(self) -> str:
        return f"<services {', '.join(self._operations())}>"


class Service:
    """One service: its operations as methods with keyword arguments, or one table of them."""

    def __init__(self, name: str, operations: Operations, call: Call) -> None:
        self._name = name
        self._operations = operations
        self._call = call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(parameters: Mapping[str, object] | None = None, /, **named: object) -> Any:
            # `from_` is how Python writes `from`
            given = {**(parameters or {}), **{key.rstrip("_"): value for key, value in named.items()}}
            return self._call(self._name, name, given)

        call.__name__, call.__qualname__ = name, f"{self._name}.{name}"
        declared = self._operations().get(self._name, {}).get(name)
        if declared is not None:
            call.__doc__ = declared.doc
            call.__signature__ = with_type_names(declared.signature)  # type: ignore[attr-defined]
        return call

    def __dir__(self) -> list[str]:
        return list(self._operations().get(self._name, {}))

    def __repr__(self) -> str:
        return f"<service {self._name}: {', '.join(dir(self))}>"
