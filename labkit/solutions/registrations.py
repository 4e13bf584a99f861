"""Event handlers of a solution, by service and event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from labkit.devices.device_events import USUAL
from labkit.labtime.events import EventKind
from labkit.solutions import events
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.handlers import Handler
from labkit.solutions.origins import INSTALLED, Origin, check_replacement

Names = tuple[str, ...]
Compile = Callable[[str, str, ScriptSource, Names], Handler]


@dataclass(slots=True)
class Registration:
    """Event handler with the service and event that it handles; the handler may be replaced.

    names: of the handler's argument; script: its source, None for a function; bound: handlers compiled from the script
    with other names of the argument, by these names.
    """

    key: events.Key
    service: str  # in its original letter case
    handler: Handler
    names: Names
    script: ScriptSource | None = None
    origin: Origin = INSTALLED
    bound: dict[Names, Handler] = field(default_factory=dict)

    def close(self) -> None:
        """Free the compiled handlers."""
        for each in (self.handler, *self.bound.values()):
            each.close()


class Registrations:
    """Event handlers of a solution: one for each service and event, and scripts installed by services as defaults.

    compile: returns a handler for service, event, script and the names of its argument; raises SettingsError.
    """

    def __init__(self, compile: Compile) -> None:
        self._compile = compile
        self._registered: dict[events.Key, Registration] = {}
        self._of_products: dict[tuple[str, str, str], Registration | None] = {}  # results of `find`
        self._of_kinds: dict[tuple[str, str, str, str], tuple[Registration, ...]] = {}  # results of `of_kind`
        self._types: Sequence[str] | None = None
        self._installed: dict[str, dict[events.Key, Registration]] = {}  # by the service

    def register(
        self,
        service: str,
        event: str,
        handler: ScriptSource | Handler,
        names: Names,
        origin: Origin,
        replace: bool = False,
    ) -> None:
        """Register a handler; it replaces an equal handler, or with `replace` any, and receives its queued events.

        Raises SettingsError for a script that does not compile, and if the event has another handler.
        """
        present = self._registered.get(events.key(service, event))
        check_replacement(f"{service} {event}", None if present is None else present.origin, origin, replace)
        new = self._create(service, event, handler, names)
        new.origin = origin
        self._forget_found()
        if present is None:
            self._registered[new.key] = new
            return
        present.close()
        present.service, present.handler, present.names = service, new.handler, names
        present.script, present.bound, present.origin = new.script, {}, origin

    def install(self, service: str, scripts: Mapping[str, ScriptSource], names: Mapping[str, Names]) -> None:
        """Install default scripts for a service's events, in place of those installed before.

        A registered handler takes precedence. scripts, names: by event. Raises SettingsError, and changes nothing, if a
        script does not compile.
        """
        before = self._installed.get(service.lower(), {})
        after: dict[events.Key, Registration] = {}
        for event, script in scripts.items():
            key = events.key(service, event)
            unchanged = before.get(key)
            if unchanged is not None and unchanged.script == script:
                after[key] = unchanged
            else:
                after[key] = self._create(service, event, script, names[event])
        self._installed[service.lower()] = after
        self._forget_found()
        for key, registration in before.items():
            if after.get(key) is not registration:
                registration.close()

    def choose(self, types: Sequence[str] | None) -> None:
        """Set the types of devices' events that handlers get; None: each that has a handler, and the usual ones."""
        self._types = types
        self._of_kinds.clear()

    def of_kind(self, kind: EventKind, product: str | None) -> tuple[Registration, ...]:
        """Return the handlers of an event as `find` does; for one of a device also that of its type.

        Without chosen types the generic handler gets those that are usual.
        """
        if product is None:
            return self._of_kind(kind, None)
        key = kind.service, kind.event, kind.type, product  # not the kind, whose hash would be a call
        if key not in self._of_kinds:  # cached, since every write of a device emits events
            self._of_kinds[key] = self._of_kind(kind, product)
        return self._of_kinds[key]

    def _of_kind(self, kind: EventKind, product: str | None) -> tuple[Registration, ...]:
        generic, named = self.find(kind.service, kind.event, product), None
        if kind.type:
            if self._types is not None and kind.type not in self._types:
                return ()
            named = self.find(kind.service, kind.type, product)
            if named is not None and named.key == events.FALLBACK:
                named = None
            if (self._types is None and kind.type not in USUAL) or (
                named and generic and generic.key == events.FALLBACK
            ):
                generic = None
        return tuple(each for each in (named, generic) if each is not None)

    def find(self, service: str, event: str, product: str | None = None) -> Registration | None:
        """Return the registered handler of an event, else an installed one, else the fallback, else None.

        product: the id of the device's product, for a device's event.
        """
        if product is None:
            return self._find(service, event, None)
        key = service, event, product
        if key not in self._of_products:  # cached, since every write of a device emits events
            self._of_products[key] = self._find(service, event, product)
        return self._of_products[key]

    def _find(self, service: str, event: str, product: str | None) -> Registration | None:
        for key in events.candidates(service, event, product):
            if key in self._registered:
                return self._registered[key]
        installed = self._installed.get(service.lower())
        if installed and (found := installed.get(events.key(service, event))) is not None:
            return found
        return self._registered.get(events.FALLBACK)

    def _forget_found(self) -> None:
        self._of_products.clear()
        self._of_kinds.clear()

    def bound(self, registration: Registration, names: Names) -> Handler:
        """Return a registration's handler, whose argument has these names if it is a script."""
        script = registration.script
        if script is None or names == registration.names:
            return registration.handler
        if names not in registration.bound:
            compiled = self._compile(registration.service, registration.key[1], script, names)
            registration.bound[names] = compiled
        return registration.bound[names]

    def _create(
        self, service: str, event: str, handler: ScriptSource | Handler, names: Names
    ) -> Registration:
        script = handler if isinstance(handler, ScriptSource) else None
        compiled = (
            handler
            if not isinstance(handler, ScriptSource)
            else self._compile(service, event, handler, names)
        )
        return Registration(events.key(service, event), service, compiled, names, script)
