"""Taking and restoring of the whole state of a platform."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from pydantic import TypeAdapter, ValidationError

from labkit.core.component import Component
from labkit.core.errors import LabError, LabkitError
from labkit.core.records import Record
from labkit.device_api.api import register_product, remove_product
from labkit.labtime.clock import Clock
from labkit.lifecycle.core_component import CoreState
from labkit.platform import Platform
from labkit.services.registry import SERVICES
from labkit.services.stubs import FixedResults
from labkit.settings import LabSettings, ProductSettings
from labkit.settings.values import REVEAL
from labkit.snapshots.content import SCHEMA, SnapshotParts, pack, unpack
from labkit.snapshots.records import records_data, records_of
from labkit.storage.copies import in_thread
from labkit.storage.database import execute

COMPARED = ("domain", "profile", "wire", "datapoints")  # settings that a lab needs to continue another one


@dataclass(frozen=True)
class Restorable:
    """A snapshot that was checked: states by component, products, and records of the journal."""

    parts: SnapshotParts
    core: CoreState
    products: list[ProductSettings]
    states: dict[str, Any]
    records: list[Record]
    handles: dict[str, Any]


async def take(platform: Platform, handles: Mapping[str, Any], *, journal: bool) -> bytes:
    """Return a snapshot of a platform. handles: state of its handles; journal: whether to include its records.

    Raises LabError while something is under way that cannot be copied, and for Python handlers.
    """
    return await platform.context.whole.run(
        partial(_take, platform, handles, journal), still=partial(platform.expect_still, "snapshot")
    )


async def _take(platform: Platform, handles: Mapping[str, Any], journal: bool) -> bytes:
    for each in platform.services:  # those that were added to the lab, or are stubs
        if type(each) not in SERVICES and not isinstance(each, FixedResults):
            raise LabError(
                f"snapshot: the service {each.name} consists of Python functions, which a snapshot cannot contain"
            )
    components = {name: _dump(each, each.snapshot()) for name, each in _stateful(platform).items()}
    platform.edge.end_idle()
    context = platform.context
    state = {
        "seed": context.identifiers.seed,
        "settings": _compared(context.settings),
        "core": _dump(platform.core, platform.core.snapshot()),
        "products": _adapter(list[ProductSettings]).dump_python(
            platform.solutions.products_of_others(), mode="json", context=REVEAL, exclude_unset=True
        ),
        "components": components,
        "handles": dict(handles),
    }
    copy = context.database.copy_for_snapshot()
    try:
        records = records_data(context.journal.iterate()) if journal else None
        return await in_thread(partial(pack, copy, state, records))
    finally:
        copy.close()


async def restore(platform: Platform, content: bytes, *, trusted: bool) -> dict[str, Any]:
    """Replace the state of a platform by that of a snapshot, and return the state of handles.

    trusted: whether this process took the snapshot, so that folders of solutions may be read. Raises LabError, and
    changes nothing, for a snapshot that does not fit, and while something is under way.
    """
    return await platform.context.whole.run(
        partial(_restore, platform, content, trusted),
        still=partial(platform.expect_still, "restore"),
        mends="restore",
    )


async def _restore(platform: Platform, content: bytes, trusted: bool) -> dict[str, Any]:
    context = platform.context
    if context.database.durable:
        raise LabError("restore: this lab keeps its data in a file; expected a lab in memory, as Lab(seed=7)")
    schema = context.database.read_now(lambda connection: execute(connection, SCHEMA).fetchall())
    parts = await in_thread(partial(unpack, content, schema))
    try:
        found = await _checked(platform, parts, trusted=trusted)
        await _rehearse(platform, found)
        with context.whole.changing("restore"):
            await _apply(platform, found)
        return found.handles
    finally:
        parts.database.close()


def _stateful(platform: Platform) -> dict[str, Component]:
    """Return the components whose state a snapshot contains, by name, in the order in which they restore it."""
    services = {f"service {each.name}": each for each in platform.services if type(each) in SERVICES}
    others = {type(each).__name__: each for each in platform.components if each is not platform.core}
    first = ("OutboundClient", "Mailbox")
    return {
        **{name: others.pop(name) for name in first},
        **services,
        **{name: each for name, each in others.items() if name != "Services"},
    }


async def _checked(platform: Platform, parts: SnapshotParts, *, trusted: bool) -> Restorable:
    """Return a snapshot with all of its parts checked. Raises LabError."""
    state, context = parts.state, platform.context
    if state.get("seed") != (seed := context.identifiers.seed):
        expected = "Lab()" if state.get("seed") is None else f"Lab(seed={state['seed']!r:.40})"
        raise LabError(f"restore: the snapshot is of {expected}, and this lab has the seed {seed}")
    given, own = state.get("settings"), _compared(context.settings)
    for name in COMPARED:
        if not isinstance(given, dict) or given.get(name) != own[name]:
            there = given.get(name) if isinstance(given, dict) else None
            raise LabError(
                f"restore: {name}: the snapshot has {there!r:.100}, and this lab {own[name]!r:.100}"
            )
    components, handles = state.get("components"), state.get("handles")
    if (
        not isinstance(components, dict)
        or not isinstance(handles, dict)
        or _stateful(platform).keys() != components.keys()
    ):
        raise LabError("restore: this snapshot is damaged: it has other parts than a lab")
    core = _parse("core", CoreState, state.get("core"))
    components["SocialProviders"] = _at_port(
        components["SocialProviders"], core, context.address.https_port, own
    )
    states = {
        name: _parse(name, each.state_type, components[name])
        for name, each in _stateful(platform).items()
        if name in components
    }
    products = _parse("products", list[ProductSettings], state.get("products"))
    kept = context.settings.journal
    given_records = records_of(parts.journal or (), core.sequence, kept.field)
    records: list[Record] = (await in_thread(partial(list, given_records)))[-kept.records :]
    products = [_without_files(each, platform) for each in products]
    if not trusted:
        states["Solutions"] = [_with_own_folder(each, platform) for each in states["Solutions"]]
    return Restorable(parts, core, products, states, records, handles)


def _at_port(data: Any, core: CoreState, port: int, own: dict[str, Any]) -> Any:
    """Return the data of providers with this lab's port in the URLs of their applications and forms."""
    text = json.dumps(data)
    for each in core.ports:
        text = text.replace(f".{own['domain']}:{each}", f".{own['domain']}:{port}")
    return json.loads(text)


def _without_files(settings: ProductSettings, platform: Platform) -> ProductSettings:
    """Return settings of a product with the content files of this lab's own product, not those of a stranger."""
    own = platform.devices.products.find(settings.id)
    return settings.model_copy(update={"content": () if own is None else own.settings.content})


def _with_own_folder(state: Any, platform: Platform) -> Any:
    """Return the state of a solution with the folder of this lab's own one. Raises LabError if it has none."""
    settings = state.settings
    if not settings.path:
        return state
    if settings.id not in platform.context.solutions:
        raise LabError(
            f"restore: solution {settings.id!r} has a folder, which a file does not contain; add it first: "
            f"lab.solution({settings.id!r}, path=…)"
        )
    path = platform.solutions.get(settings.id).settings.path
    return type(state)(
        settings.model_copy(update={"path": path}), state.configured, state.added, state.warnings, state.host
    )


async def _rehearse(platform: Platform, found: Restorable) -> None:
    """Restore a snapshot in a platform of its own, so that one that cannot be restored changes nothing."""
    update = {
        "https_port": 0,
        "http_port": None,
        "proxy_port": None,
        "products": (),
        "solutions": (),
        "faults": (),
    }
    settings = platform.context.settings.model_copy(update=update)
    trial = Platform(settings, seed=platform.context.identifiers.seed, clock=Clock(0.0))
    await trial.start()
    try:
        await _apply(trial, found)
    except (LabkitError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise LabError(f"restore: this snapshot cannot be restored here: {error}") from error
    finally:
        await trial.stop()


async def empty(platform: Platform) -> None:
    """Remove all solutions and products, and all state that is not in the database."""
    await platform.solutions.remove_all()
    for product in platform.devices.products:
        remove_product(product.id, platform.context)
    for component in reversed(platform.components):
        if component is not platform.core:
            await component.clear()
    await platform.settle()


async def _apply(platform: Platform, found: Restorable) -> None:
    """Replace the state of a platform."""
    context = platform.context
    await empty(platform)
    await platform.core.restore(found.core)
    context.database.load(found.parts.database, found.core.starts)
    for settings in found.products:
        register_product(settings, platform.devices, context)
    changes = context.database.changes
    for name, component in _stateful(platform).items():
        if name in found.states:
            await component.restore(found.states[name])
    await platform.settle()
    if context.database.changes != changes:  # by the set-up of services
        context.database.load(found.parts.database, found.core.starts)
    context.identifiers.restore(found.core.identifiers_start, found.core.identifiers)
    context.journal.continue_from(found.core.sequence, found.core.actors, found.records)


def _compared(settings: LabSettings) -> dict[str, Any]:
    return settings.model_dump(mode="json", include=set(COMPARED))


def _dump(component: Component, state: Any) -> Any:
    if component.state_type is None:
        return None
    return _adapter(component.state_type).dump_python(state, mode="json", context=REVEAL)


def _parse(name: str, kind: Any, state: Any) -> Any:
    """Return a state from plain data. Raises LabError where it has another form."""
    if kind is None:
        return None
    try:
        return _adapter(kind).validate_python(state)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, (name, *first["loc"])))
        text = f"restore: this snapshot is damaged: {where:.200}: {first['msg']:.200}"
    raise LabError(text)


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
