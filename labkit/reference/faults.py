"""Reference of faults: of a lab, of the devices of a fleet, and of providers."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from labkit.fleet.fault_kinds import KINDS, FaultKind
from labkit.providers.messaging.faults import FAULTS as MESSAGING
from labkit.providers.social.faults import FAULTS as SOCIAL
from labkit.reference.entry import ReferenceEntry, ReferencePage, code, prose
from labkit.reference.settings import FIRST, meanings, schema, shown_type
from labkit.settings import FaultSettings
from labkit.settings.faults import ROLES

PLACES: Mapping[str, str] = {
    "request": "requests",
    "call": "service calls",
    "event": "events",
    "outgoing": "outgoing requests",
    "provider": "provider steps",
    "message": "messages of websockets",
}


@cache
def examples() -> Mapping[str, Mapping[str, Any]]:
    """Return an example of a fault for each key, as plain values."""
    return tomllib.loads((Path(__file__).parent / "faults.toml").read_text())


def pages() -> Iterator[ReferencePage]:
    """Yield a page for the faults of each kind of place."""
    intro = prose(inspect.getdoc(FaultSettings) or "")
    yield ReferencePage("reference/faults/lab", "Faults of a lab", intro, tuple(_keys()))
    intro = (
        "A fault of the devices of a fleet, and of their end of the connection. Add it before the fleet runs."
    )
    yield ReferencePage("reference/faults/devices", "Faults of devices", intro, tuple(_kinds()))
    intro = "A fault of an identity provider or of the messaging provider hits the next request at its step."
    yield ReferencePage("reference/faults/providers", "Faults of providers", intro, tuple(_of_providers()))


def _keys() -> Iterator[ReferenceEntry]:
    texts, properties = meanings(FaultSettings), schema()["$defs"]["FaultSettings"]["properties"]
    for name in FaultSettings.model_fields:
        role, text = ROLES.get(name), texts[name]
        facts = [f"- Type: {shown_type(properties[name])}", f"- Since: {FIRST}"]
        if role is not None:
            facts.insert(0, f"- Role: {role.kind}, for {', '.join(PLACES[each] for each in role.places)}")
        parts = [prose(text[:1].upper() + text[1:] + "."), "\n".join(facts), *_example(examples()[name])]
        yield ReferenceEntry(
            "fault", f"faults[].{name}", "\n\n".join(parts), (f"faults.{name}", f"fault {name}")
        )


def _example(fault: Mapping[str, Any]) -> Iterator[str]:
    text = yaml.safe_dump({"faults": [dict(fault)]}, sort_keys=False, allow_unicode=True)
    yield code("yaml", text)
    given = ", ".join(f"{name}={value!r}" for name, value in fault.items() if name != "where")
    yield code("python", f"lab.faults.add({fault['where']!r}, {given})")


def device_example(name: str, kind: FaultKind) -> str:
    """Return a line of Python that adds a fault of this kind to a fleet."""
    seconds = "" if kind.seconds is None else ", seconds=60"
    often = ", after=3600" if kind.after else "" if kind.once or kind.apply is None else ", every=10"
    return f"fleet.faults.add({name!r}{often}{seconds})"


def _kinds() -> Iterator[ReferenceEntry]:
    for name, kind in KINDS.items():
        text = prose(kind.meaning[:1].upper() + kind.meaning[1:] + ".")
        yield ReferenceEntry("device fault", name, f"{text}\n\n{code('python', device_example(name, kind))}")


def _of_providers() -> Iterator[ReferenceEntry]:
    for name in dict.fromkeys((*SOCIAL, *MESSAGING)):
        parts = []
        for title, known, line in (
            ("Identity providers", SOCIAL, f'lab.provider("google").fault({name!r})'),
            ("Messaging provider", MESSAGING, f"lab.messaging.fault({name!r})"),
        ):
            if name in known:
                parts.append(f"{title}: at the step {' or '.join(f'`{step}`' for step in known[name])}.")
                parts.append(code("python", line))
        yield ReferenceEntry("provider fault", name, "\n\n".join(parts))
