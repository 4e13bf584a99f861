"""Event handlers of a solution, by service and event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from labkit.solutions import events
from labkit.solutions.handlers import Handler
from labkit.solutions.origins import NOWHERE, Origin, check_place
from labkit.solutions.scripts import Script

Names = tuple[str, ...]
Compile = Callable[[str, str, Script, Names], Handler]


@dataclass(slots=True)
class Registration:
    """An event handler with the service and event that it handles; the handler may be replaced.

    names: of its argument; script: its source, None for a function; bound: the script compiled with other names of
    its argument, by these names.
    """

    key: events.Key
    service: str  # as it was written
    handler: Handler
    names: Names
    script: Script | None = None
    origin: Origin = NOWHERE
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
        self._kept: dict[events.Key, Registration] = {}
        self._of_products: dict[tuple[str, str, str], Registration | None] = {}  # results of `find`
        self._installed: dict[str, dict[events.Key, Registration]] = {}  # by the service

    def keep(
        self,
        service: str,
        event: str,
        handler: Script | Handler,
        names: Names,
        origin: Origin,
        replace: bool = False,
    ) -> None:
        """Register a handler. It replaces the same one, or with `replace` any, and gets the events queued for that.

        Raises SettingsError for a script that does not compile, and if the event has another handler.
        """
        there = self._kept.get(events.key(service, event))
        check_place(f"{service} {event}", None if there is None else there.origin, origin, replace)
        made = self._made(service, event, handler, names)
        made.origin = origin
        self._of_products.clear()
        present = self._kept.get(made.key)
        if present is None:
            self._kept[made.key] = made
            return
        present.close()
        present.service, present.handler, present.names = service, made.handler, names
        present.script, present.bound, present.origin = made.script, {}, origin

    def install(self, service: str, scripts: Mapping[str, Script], names: Mapping[str, Names]) -> None:
        """Have these scripts handle events of a service that have no handler here, and no others.

        scripts, names: by event. Raises SettingsError, and changes nothing, where one does not compile.
        """
        before = self._installed.get(service.lower(), {})
        after: dict[events.Key, Registration] = {}
        for event, script in scripts.items():
            key = events.key(service, event)
            same = before.get(key)
            if same is not None and same.script == script:
                after[key] = same
            else:
                after[key] = self._made(service, event, script, names[event])
        self._installed[service.lower()] = after
        self._of_products.clear()
        for key, registration in before.items():
            if after.get(key) is not registration:
                registration.close()

    def find(self, service: str, event: str, product: str | None = None) -> Registration | None:
        """Return the handler of an event: its own, else an installed one, else the fallback, else None.

        product: of the device, for a device's event.
        """
        if product is None:
            return self._find(service, event, None)
        key = service, event, product
        if key not in self._of_products:  # events of devices come with every write, and there are few kinds
            self._of_products[key] = self._find(service, event, product)
        return self._of_products[key]

    def _find(self, service: str, event: str, product: str | None) -> Registration | None:
        for key in events.candidates(service, event, product):
            if key in self._kept:
                return self._kept[key]
        installed = self._installed.get(service.lower())
        if installed and (found := installed.get(events.key(service, event))) is not None:
            return found
        return self._kept.get(events.FALLBACK)

    def bound(self, registration: Registration, names: Names) -> Handler:
        """Return a registration's handler. A script's argument has these names, a function's the function's own."""
        script = registration.script
        if script is None or names == registration.names:
            return registration.handler
        if names not in registration.bound:
            made = self._compile(registration.service, registration.key[1], script, names)
            registration.bound[names] = made
        return registration.bound[names]

    def _made(self, service: str, event: str, handler: Script | Handler, names: Names) -> Registration:
        script = handler if isinstance(handler, Script) else None
        compiled = (
            handler if not isinstance(handler, Script) else self._compile(service, event, handler, names)
        )
        return Registration(events.key(service, event), service, compiled, names, script)
