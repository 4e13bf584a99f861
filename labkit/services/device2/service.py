"""The Device2 service: identities of a solution's products, and their state (platform types; document 1, Resources)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field

from labkit.context import Context, NamedSolution
from labkit.core.errors import LabError, ServiceError, SettingsError
from labkit.devices.access import DeviceAccess
from labkit.devices.identities import LONGEST
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import DeviceRecord
from labkit.faults.patterns import Pattern
from labkit.services.arguments import Whole, is_unicode, json_number
from labkit.services.bounds import shown_name
from labkit.services.operation import Caller, Service, operation

MOST_LISTED = 10_000
LONGEST_VALUE = 2**20  # characters, the same limit as for values that devices write


def _text(value: object) -> object:
    """Return an identity as text; scripts may pass an identity of digits as a number."""
    if isinstance(value, str) and not is_unicode(value):
        raise ValueError("expected valid Unicode")
    return json_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Identity = Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=LONGEST)]
Pid = Annotated[str, Field(min_length=1, max_length=LONGEST)]
Status = Literal["whitelisted", "provisioned", "locked"]
Limit = Annotated[Whole, Field(ge=1, le=MOST_LISTED)]
Offset = Annotated[Whole, Field(ge=0)]


class Device2(Service):
    """Service for the devices of the products that the calling solution is linked to.

    pid: the product's id, as in events; it may be omitted if the solution has a single product. A product with an
    alias in the settings (`aliases`) also has its own service: `Lightbulb.getIdentity`.
    """

    name: ClassVar[str] = "Device2"

    def __init__(self, context: Context) -> None:
        self._context = context
        self._aliased: dict[str, dict[str, ProductService]] = {}  # by solution, then by alias

    @operation
    async def getIdentity(
        self, caller: Caller, identity: Identity, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return a device: identity, pid, status, locked, state. 404 if there is none.

        status: whitelisted, provisioned or locked; state: as getIdentityState returns it.
        """
        product, device = await self._device(caller, pid, identity)
        return {**device_record(device), "state": await _state(product.access, identity)}

    @operation
    async def listIdentities(
        self,
        caller: Caller,
        identity: Identity | None = None,
        status: Status | None = None,
        limit: Limit = 1000,
        offset: Offset = 0,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """List the devices, by identity: {devices}, a list of identity, pid, status and locked.

        identity: a pattern, where `*` matches any characters; status: whitelisted, provisioned or locked; limit: 1
        to 10000.
        """
        found = await self._found(caller, pid, identity, status)
        return {"devices": [device_record(each) for each in found[offset : offset + limit]]}

    @operation
    async def countIdentities(
        self,
        caller: Caller,
        identity: Identity | None = None,
        status: Status | None = None,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """Return {count}: the number of devices that `listIdentities` finds, without its limit."""
        return {"count": len(await self._found(caller, pid, identity, status))}

    @operation
    async def addIdentity(
        self, caller: Caller, identity: Identity, pid: Pid | None = None
    ) -> dict[str, object]:
        """Whitelist an identity. 409 if it exists, 400 if the product does not accept it."""
        product = self._product(caller, pid)
        try:
            added = await product.access.add(identity)
        except LabError as error:
            raise ServiceError(400, f"Parameter identity validation failed: {error}.") from None
        if not added:
            raise ServiceError(409, f"Identity {shown_name(identity)} already exists")
        return {}

    @operation
    async def removeIdentity(
        self, caller: Caller, identity: Identity, pid: Pid | None = None
    ) -> dict[str, object]:
        """Delete a device with its credentials; its datapoints stay. 404 if there is none."""
        product = self._product(caller, pid)
        try:
            await product.access.remove(identity)
        except LabError:
            raise _missing(identity) from None
        return {}

    @operation
    async def getIdentityState(
        self, caller: Caller, identity: Identity, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return a device's state: {alias: {reported, set, timestamp}}. 404 if there is no such device.

        reported: the value that the device reported; set: the value that was set for it; timestamp: of the newer of
        the two, in microseconds. A missing value is left out.
        """
        product, _ = await self._device(caller, pid, identity)
        return await _state(product.access, identity)

    @operation
    async def setIdentityState(
        self, caller: Caller, /, identity: Identity, pid: Pid | None = None, **others: object
    ) -> dict[str, object]:
        """Set values of a device's resources: `setIdentityState{identity = "t-001", target = 21}`.

        Adds a datapoint with the current second as timestamp to every given alias, and answers pending polls; emits no
        event. A value is text, a number or a boolean. 404 if there is no such device; 400 for an alias that is
        no resource or is not settable, or for a value that the resource refuses: then nothing is set.
        """
        if not others:
            raise ServiceError(400, "expected at least one <alias> = <value>")
        values = {alias: _value(alias, value) for alias, value in others.items()}
        product, _ = await self._device(caller, pid, identity)
        try:
            await product.access.set(identity, values)
        except LabError as error:
            raise ServiceError(400, f"Parameter {error}.") from None
        return {}

    # ---- lifecycle

    def services(self, solution: str) -> Mapping[str, Service]:
        """Return a solution's products that have an alias, by alias."""
        return self._aliased.get(solution, {})

    def check(self, solution: NamedSolution, configuration: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise SettingsError for an alias that names a service, or a product that is not the solution's."""
        for alias, product in solution.aliases.items():
            if product not in solution.products:
                raise SettingsError(f"aliases.{alias}: {product!r} is none of its products")
            if alias in self._context.services:
                raise SettingsError(f"aliases.{alias}: there is a service of this name")

    def configured(self, solution: str) -> None:
        found = self._context.solutions.find(solution)
        aliases = {} if found is None else found.aliases
        self._aliased[solution] = {
            alias: ProductService(self._context, alias, pid) for alias, pid in aliases.items()
        }
        if not aliases:
            del self._aliased[solution]
        self._context.services.changed()

    def _pid(self, caller: Caller, pid: str | None) -> str:
        """Return the id of the requested product, or of the solution's only one. Raises ServiceError 404 or 400."""
        products = self._context.solutions.get(caller.solution).products
        if pid is not None:
            if pid not in products:
                raise ServiceError(404, f"Product {shown_name(pid)} Not Found")
            return pid
        if len(products) == 1:
            return products[0]
        if not products:
            raise ServiceError(404, "the solution is linked to no product")
        raise ServiceError(400, f"Parameter pid is required: expected one of: {', '.join(products)}.")

    def _product(self, caller: Caller, pid: str | None) -> PlatformProduct:
        return cast(PlatformProduct, self._context.products.get(self._pid(caller, pid)))

    async def _device(
        self, caller: Caller, pid: str | None, identity: str
    ) -> tuple[PlatformProduct, DeviceRecord]:
        product = self._product(caller, pid)
        device = await product.access.find(identity)
        if device is None:
            raise _missing(identity)
        return product, device

    async def _found(
        self, caller: Caller, pid: str | None, identity: str | None, status: str | None
    ) -> list[DeviceRecord]:
        pattern = None if identity is None else Pattern(identity)
        return [
            each
            for each in await self._product(caller, pid).access.all()
            if (pattern is None or pattern.matches(each.identity)) and status in (None, each.status)
        ]


class ProductService(Device2):
    """Service for the devices of one product, named by the product's alias."""

    def __init__(self, context: Context, name: str, pid: str) -> None:
        super().__init__(context)
        self.name = name  # type: ignore[misc]  # a ClassVar of other services
        self._product_id = pid

    def _pid(self, caller: Caller, pid: str | None) -> str:
        if pid not in (None, self._product_id):
            raise ServiceError(404, f"Product {shown_name(str(pid))} Not Found")
        return self._product_id


def device_record(device: DeviceRecord) -> dict[str, object]:
    """Return a device without its state."""
    return {
        "identity": device.identity,
        "pid": device.product,
        "status": device.status,
        "locked": device.locked,
    }


async def _state(access: DeviceAccess, identity: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for alias, value in (await access.state(identity)).items():
        both = {"reported": value.reported, "set": value.set}
        known: dict[str, object] = {name: each for name, each in both.items() if each is not None}
        found[alias] = {**known, "timestamp": value.timestamp * 1_000_000}
    return found


def _value(alias: str, value: object) -> str:
    """Return a value as a device reads it. Raises ServiceError 400 unless it is a number, boolean or text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json_number(value)
    if not isinstance(value, str) or not is_unicode(value) or len(value) > LONGEST_VALUE:
        raise ServiceError(
            400,
            f"Parameter {shown_name(alias)} validation failed: expected a number, a boolean or a text of at most "
            f"{LONGEST_VALUE} characters.",
        )
    return value


def _missing(identity: str) -> ServiceError:
    return ServiceError(404, f"Identity {shown_name(identity)} Not Found")
