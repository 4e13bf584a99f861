"""The Device2 service: identities of a solution's products, and their state (platform types; document 1, Resources)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BaseModel, Field, StrictBool

from labkit.context import Context, NamedSolution
from labkit.core.errors import LabError, ServiceError, SettingsError, UnknownError, sentence
from labkit.devices.access import Value
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import DeviceRecord
from labkit.devices.selection import DeviceSelection
from labkit.devices.tags import Tag
from labkit.services.arguments import Limit, Offset
from labkit.services.bounds import shown_name
from labkit.services.device2.arguments import (
    Auth,
    ChosenTag,
    ChosenTags,
    GivenTags,
    TagName,
    as_tags,
    credential,
    shown_tags,
)
from labkit.services.device2.product_file import ProductFile
from labkit.services.device_values import Identity, Pid, missing_identity, product_id, value_text
from labkit.services.mistakes import MistakeError
from labkit.services.operation import Caller, Service, operation, read_parameters
from labkit.settings.products import NumberRange, ProductSettings, Resource

PROTOCOL = "onep:v1/http"  # the HTTPS API of document 1
# Formats of the service, where they differ from those of the settings.
FORMATS: Mapping[str, str] = MappingProxyType({"integer": "number", "float": "number"})


def shown_resource(resource: Resource) -> dict[str, object]:
    """Return a resource as scripts receive it: format, unit, settable and allowed."""
    allowed = [
        {"min": each.min, "max": each.max} if isinstance(each, NumberRange) else each
        for each in resource.allowed
    ]
    return {
        "format": FORMATS.get(resource.format, resource.format),
        "unit": resource.unit,
        "settable": resource.settable,
        "allowed": allowed,
    }


def shown_settings(settings: ProductSettings) -> dict[str, object]:
    """Return how devices connect to a product: protocol and provisioning."""
    return {
        "protocol": {"name": PROTOCOL, "devmode": False},
        "provisioning": {"enabled": settings.provisioning},
    }


Status = Literal["whitelisted", "provisioned", "locked"]
AliasName = Annotated[str, Field(min_length=1, max_length=64)]


class Device2(Service):
    """Service for the devices of the products that the calling solution is linked to.

    pid: the product's id, as in events; it may be omitted if the solution has a single product. A product with an
    alias in the settings (`aliases`) also has its own service: `Lightbulb.getIdentity`. Resources and settings of a
    product are those of the lab's settings, which scripts read. Not offered: makeIdentity, listTagNames, and operations
    on several identities at once, whose arguments no public document shows.
    """

    name: ClassVar[str] = "Device2"
    configuration_model: ClassVar[type[BaseModel]] = ProductFile

    def __init__(self, context: Context) -> None:
        self._context = context
        self._aliased: dict[str, dict[str, ProductService]] = {}  # by solution, then by alias
        self._described: dict[str, str] = {}  # product to which a solution gives settings, by solution

    @operation
    async def getIdentity(
        self, caller: Caller, identity: Identity, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return a device: identity, pid, status, locked, tags, state. 404 if there is none.

        status: whitelisted, provisioned or locked; tags: as getIdentityTag returns them; state: as getIdentityState
        returns it.
        """
        product, device = await self._device(caller, pid, identity)
        tags, state = await product.access.tags(identity), await product.access.state(identity)
        return {**device_record(device, tags), "state": shown_state(state)}

    @operation
    async def listIdentities(
        self,
        caller: Caller,
        identity: Identity | None = None,
        status: Status | None = None,
        tag: ChosenTags = (),  # type: ignore[assignment]  # as an empty list
        limit: Limit = 1000,
        offset: Offset = 0,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """List the devices, by identity: {devices}, a list of what getIdentity returns.

        identity: a pattern, where `*` matches any characters; status: whitelisted, provisioned or locked; tag: a tag
        that they have, or a list of tags, as in removeIdentityTag; limit: 1 to 10000.
        """
        product = self._product(caller, pid)
        found = await product.access.select(_selection(identity, status, tag), limit, offset)
        more = await product.access.tags_and_states([each.identity for each in found])
        shown = []
        for each in found:
            tags, state = more[each.identity]
            shown.append({**device_record(each, tags), "state": shown_state(state)})
        return {"devices": shown}

    @operation
    async def countIdentities(
        self,
        caller: Caller,
        identity: Identity | None = None,
        status: Status | None = None,
        tag: ChosenTags = (),  # type: ignore[assignment]  # as an empty list
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """Return {count}: the number of devices that `listIdentities` finds, without its limit."""
        product = self._product(caller, pid)
        return {"count": await product.access.count(_selection(identity, status, tag))}

    @operation
    async def addIdentity(
        self, caller: Caller, identity: Identity, auth: Auth | None = None, pid: Pid | None = None
    ) -> dict[str, object]:
        """Whitelist an identity. 409 if it exists, 400 if the product does not accept it; nothing is added then.

        auth: its credential, as in updateIdentity; without it the device activates itself.
        """
        product = self._product(caller, pid)
        if auth is not None:
            await _check_credential(product, identity, auth)
        try:
            added = await product.access.add(identity)
        except LabError as error:
            raise ServiceError(400, f"Parameter identity validation failed: {error}.") from None
        if not added:
            raise ServiceError(409, f"Identity {shown_name(identity)} already exists")
        if auth is not None:
            await _replace_credential(product, identity, auth)
        return {}

    @operation
    async def updateIdentity(
        self, caller: Caller, identity: Identity, auth: Auth, pid: Pid | None = None
    ) -> dict[str, object]:
        """Replace the credential of a device, which needs no activation then; the old one ends at once.

        auth: {key, type}; type: token (40 characters), password (at least 20) or certificate (PEM, whose CN is the
        identity), by default and only that of the product. 404 if there is no such device, 400 for a credential that
        the product does not accept or that another device has, and for a locked device.
        """
        product, _ = await self._device(caller, pid, identity)
        await _check_credential(product, identity, auth)
        await _replace_credential(product, identity, auth)
        return {}

    @operation
    async def addIdentityTag(
        self,
        caller: Caller,
        identity: Identity,
        tags: GivenTags,
        replace: StrictBool = False,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """Give a device tags: a list of {name, value}. 404 if there is no such device.

        A name may have several values. replace: remove its other tags of these names first.
        """
        product, _ = await self._device(caller, pid, identity)
        await product.access.add_tags(identity, as_tags(tags), replace=replace)
        return {}

    @operation
    async def getIdentityTag(
        self, caller: Caller, identity: Identity, name: TagName | None = None, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return {tags}: the tags of a device, a list of {name, value} by name and value.

        name: only the tags of this name. 404 if there is no such device.
        """
        product, _ = await self._device(caller, pid, identity)
        return {
            "tags": shown_tags(
                [tag for tag in await product.access.tags(identity) if name in (None, tag.name)]
            )
        }

    @operation
    async def removeIdentityTag(
        self, caller: Caller, identity: Identity, tags: ChosenTags, pid: Pid | None = None
    ) -> dict[str, object]:
        """Remove tags of a device: a list of {name, value}. 404 if there is no such device.

        Without value all tags of the name are removed; tags that the device does not have are ignored.
        """
        product, _ = await self._device(caller, pid, identity)
        await product.access.remove_tags(identity, as_tags(tags))
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
            raise missing_identity(identity) from None
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
        return shown_state(await product.access.state(identity))

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
            raise MistakeError(400, "expected at least one <alias> = <value>")
        values = {alias: value_text(alias, value) for alias, value in others.items()}
        product, _ = await self._device(caller, pid, identity)
        try:
            await product.access.set(identity, values)
        except LabError as error:
            raise MistakeError(400, sentence(f"Parameter {error}")) from None
        return {}

    @operation
    async def getGatewayResource(
        self, caller: Caller, alias: AliasName, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return a resource of the product: {alias, format, unit, settable, allowed}. 404 if there is none.

        format: number, string or boolean; allowed: values, and ranges as {min, max}; empty for any value.
        """
        resource = self._product(caller, pid).settings.resources.get(alias)
        if resource is None:
            raise ServiceError(404, f"Resource {shown_name(alias)} Not Found")
        return {"alias": alias, **shown_resource(resource)}

    @operation
    async def getGatewayResourceList(self, caller: Caller, pid: Pid | None = None) -> dict[str, object]:
        """Return the resources of the product by alias, each with format, unit, settable and allowed."""
        resources = self._product(caller, pid).settings.resources
        return {alias: shown_resource(each) for alias, each in sorted(resources.items())}

    @operation
    async def getGatewaySettings(self, caller: Caller, pid: Pid | None = None) -> dict[str, object]:
        """Return how devices connect to the product: {protocol = {name, devmode}, provisioning = {enabled}}.

        name: of the protocol, onep:v1/http; devmode: whether devices may do without TLS, always false; enabled: whether
        devices may activate themselves.
        """
        return shown_settings(self._product(caller, pid).settings)

    # ---- lifecycle

    def services(self, solution: str) -> Mapping[str, Service]:
        """Return a solution's products that have an alias, by alias."""
        return self._aliased.get(solution, {})

    def check(self, solution: NamedSolution, configuration: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise SettingsError for an alias that names a service, or a product that is not the solution's.

        Also for a wrong parameter of the product that the solution describes.
        """
        super().check(solution, configuration)
        for alias, product in solution.aliases.items():
            if product not in solution.products:
                raise SettingsError(f"aliases.{alias}: {product!r} is none of its products")
            if alias in self._context.services:
                raise SettingsError(f"aliases.{alias}: there is a service of this name")

    def configured(self, solution: str) -> None:
        found = self._context.solutions.find(solution)
        self._describe(solution, () if found is None else found.products)
        aliases = {} if found is None else found.aliases
        self._aliased[solution] = {
            alias: ProductService(self._context, alias, pid) for alias, pid in aliases.items()
        }
        if not aliases:
            del self._aliased[solution]
        self._context.services.changed()

    def _describe(self, solution: str, products: Sequence[str]) -> None:
        """Give the only product of a solution what its parameters say of one; from others take back what it gave."""
        given, before = self._context.configuration.get(solution, {}), self._described.pop(solution, None)
        if len(products) == 1 and self.name in given:
            file = read_parameters(ProductFile, self.name, given)
            self._context.products.get(products[0]).adopt(solution, file.settings())
            self._described[solution] = products[0]
        if before not in (
            None,
            solution,
            self._described.get(solution),
        ):  # the one that it made stays until a restart
            product = self._context.products.find(before)
            if product is not None:
                product.adopt(solution, None)

    def _pid(self, caller: Caller, pid: str | None) -> str:
        return product_id(self._context, caller.solution, pid)

    def _product(self, caller: Caller, pid: str | None) -> PlatformProduct:
        return cast(PlatformProduct, self._context.products.get(self._pid(caller, pid)))

    async def _device(
        self, caller: Caller, pid: str | None, identity: str
    ) -> tuple[PlatformProduct, DeviceRecord]:
        product = self._product(caller, pid)
        device = await product.access.find(identity)
        if device is None:
            raise missing_identity(identity)
        return product, device


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


def device_record(device: DeviceRecord, tags: Sequence[Tag]) -> dict[str, object]:
    """Return a device without its state."""
    return {
        "identity": device.identity,
        "pid": device.product,
        "status": device.status,
        "locked": device.locked,
        "tags": shown_tags(tags),
    }


def shown_state(state: Mapping[str, Value]) -> dict[str, object]:
    """Return the state of a device as scripts receive it."""
    found: dict[str, object] = {}
    for alias, value in state.items():
        both = {"reported": value.reported, "set": value.set}
        known: dict[str, object] = {name: each for name, each in both.items() if each is not None}
        found[alias] = {**known, "timestamp": value.timestamp * 1_000_000}
    return found


def _selection(identity: str | None, status: Status | None, tags: Sequence[ChosenTag]) -> DeviceSelection:
    return DeviceSelection(identity, status, as_tags(tags))


async def _check_credential(product: PlatformProduct, identity: str, auth: Auth) -> None:
    try:
        await product.access.check_credential(identity, credential(auth, product.settings.auth, identity))
    except LabError as error:
        raise ServiceError(400, f"Parameter auth.key validation failed: {error}.") from None


async def _replace_credential(product: PlatformProduct, identity: str, auth: Auth) -> None:
    try:
        await product.access.replace_credential(identity, credential(auth, product.settings.auth, identity))
    except UnknownError:
        raise missing_identity(identity) from None
    except LabError as error:
        raise ServiceError(400, f"Parameter auth.key validation failed: {error}.") from None
