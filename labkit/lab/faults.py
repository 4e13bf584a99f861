"""The handles of a lab's faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

from labkit.control.faults import FaultInfo
from labkit.core.handle import Handle
from labkit.core.keywords import shows_keywords
from labkit.lab.arguments import as_list, build_settings, given_settings
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, frame_of, table
from labkit.settings import FaultKeywords, FaultSettings

if TYPE_CHECKING:
    import pandas


SHOWN = ("name", "where", "does", "often", "whom", "seen", "hits")


def warn_of_fault(runtime: Runtime, info: FaultInfo) -> None:
    """Warn, at the caller's line, of a fault that can hit nothing."""
    for text in info.warnings:
        runtime.warn(text)


class Fault(Handle):
    """A fault of a lab: see `lab.faults.add`."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._control = runtime.control.faults
        self.name = name

    @property
    def info(self) -> FaultInfo:
        """Description of the fault, with its counts. Raises LabError after it was removed."""
        return self._runtime.run(self._control.get, self.name)

    @property
    def hits(self) -> int:
        """Number of times that the fault hit."""
        return self.info.hits

    @property
    def seen(self) -> int:
        """Number of requests, calls or events that the fault could have hit."""
        return self.info.seen

    @property
    def state(self) -> str:
        """`waiting` until its period begins (`after`), `active`, or `ended` after its period or its last hit."""
        return self.info.state

    def remove(self) -> None:
        """Remove the fault."""
        self._runtime.run(self._control.remove, self.name)

    def __repr__(self) -> str:
        info = self.info
        return f"<fault {info.name!r}: {info.sentence}; hit {info.hits} of {info.seen}>"

    def _repr_html_(self) -> str:
        info = self.info
        return card(f"fault {info.name}", {name: getattr(info, name) for name in SHOWN[1:]})


class LabFaults(Handle):
    """The named faults of a lab: deliberate failures at a place, for some devices or solutions, at some rate."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.faults

    @shows_keywords(FaultKeywords, FaultSettings)
    def add(self, where: str, **settings: Unpack[FaultKeywords]) -> Fault:
        """Add a fault to the lab, and return it: `lab.faults.add("POST /onep:v1/stack/alias", status=503, first=2)`.

        where: a request (`POST /path`), a service operation (`User.listUsers`, `Keystore.*`), an event (`device
        datapoint`), an outgoing request (`https://example.com/path`), a provider's step (`provider google token`, with
        `does="slow"`) or the messages of a websocket (`WEBSOCKET /path received`, `sent` or `*`); `*` matches any
        characters.

        Paths of fields: `users.email`; `.` is the whole body. In requests and answers `@Name` is a header; in
        requests `?name` is a query parameter and `/` the URL's path.

        Raises SettingsError for a wrong or impossible setting, UnknownError for a product, solution or provider that
        does not exist. Warns of a path that is similar to an existing one, which may be added later.
        """
        info = self._runtime.run(self._control.add, _built(where, settings))
        warn_of_fault(self._runtime, info)
        return Fault(self._runtime, info.name)

    @shows_keywords(FaultKeywords, FaultSettings)
    def describe(self, where: str, **settings: Unpack[FaultKeywords]) -> FaultInfo:
        """Return the description that a fault would have, with its `sentence` in words, and add nothing.

        where: as of `add`. Raises what `add` raises.
        """
        return self._runtime.run(self._control.describe, _built(where, settings))

    @shows_keywords(FaultKeywords, FaultSettings)
    def prepare(self, where: str, **settings: Unpack[FaultKeywords]) -> Fault:
        """Add a fault for products, solutions, services and providers that may be added to the lab later.

        `lab.faults.prepare("POST /onep:v1/stack/alias", product="thermostat", status=503)`, before the thermostat is
        there. As `add`, but names that do not exist yet raise no error, and nothing is warned of.

        where: as of `add`. Raises SettingsError for a wrong or impossible setting.
        """
        return Fault(self._runtime, self._runtime.run(self._control.prepare, _built(where, settings)).name)

    def get(self, name: str) -> Fault:
        """Return the fault with this name. Raises UnknownError, listing the existing names, if there is none."""
        return Fault(self._runtime, self._runtime.run(self._control.get, name).name)

    def remove(self, name: str) -> None:
        """Remove a fault. Raises UnknownError, listing the existing names, if there is none with this name."""
        self._runtime.run(self._control.remove, name)

    def clear(self) -> None:
        """Remove all faults; those of lab.yaml return at the next reset. Delayed events never arrive."""
        self._runtime.run(self._control.clear)

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame of the faults, indexed by name: where, does, often, whom, seen, hits, origin."""
        return frame_of(self._all(), (*SHOWN, "origin"), "name")

    def __iter__(self) -> Iterator[Fault]:
        return iter([Fault(self._runtime, each.name) for each in self._all()])

    def __getitem__(self, name: str) -> Fault:
        return self.get(name)

    def __len__(self) -> int:
        return len(self._all())

    def _ipython_key_completions_(self) -> list[str]:
        return [each.name for each in self._all()]

    def _all(self) -> list[FaultInfo]:
        return self._runtime.run(self._control.all)

    def __repr__(self) -> str:
        lines = [f"{each.name}: {each.sentence}; hit {each.hits} of {each.seen}" for each in self._all()]
        return "\n".join(lines) or "<no faults>"

    def _repr_html_(self) -> str:
        return table(SHOWN, [[getattr(each, name) for name in SHOWN] for each in self._all()], "no faults")


def _built(where: str, settings: FaultKeywords) -> FaultSettings:
    """Return the settings of a fault. Raises SettingsError for wrong ones."""
    named = given_settings(FaultSettings, "fault", settings)
    for each in {"product", "solution"} & named.keys():  # their handles are taken, too
        named[each] = [getattr(one, "id", one) for one in as_list(named[each])]
    return build_settings(FaultSettings, f"fault at {where!r}", {"where": where, **named})
