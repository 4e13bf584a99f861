"""The Device2 service: identities of a solution's products, and their state (platform types; document 1, Resources)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast
from uuid import UUID

from pydantic import BaseModel, StrictBool

from labkit.context import Context, NamedSolution
from labkit.core.errors import LabError, ServiceError, SettingsError, UnknownError, sentence
from labkit.core.identifiers import Identifiers
from labkit.devices.access import Value
from labkit.devices.products import RESOURCE, PlatformProduct
from labkit.devices.registry import DeviceRecord
from labkit.devices.selection import DeviceSelection
from labkit.devices.tags import Tag
from labkit.services.arguments import Limit, Offset
from labkit.services.bounds import shown_name
from labkit.services.device2.arguments import (
    AliasName,
    Allowed,
    Auth,
    ChosenTag,
    ChosenTags,
    GivenTags,
    Identities,
    NewIdentity,
    Plain,
    Provisioning,
    Statuses,
    TagName,
    as_tags,
    credential,
    shown_tags,
)
from labkit.services.device2.product_file import ProductFile
from labkit.services.device_values import (
    Identity,
    Pid,
    add_identity,
    missing_identity,
    product_id,
    value_text,
)
from labkit.services.mistakes import MistakeError
from labkit.services.operation import Caller, Service, also_named, operation, read_parameters
from labkit.settings.products import IdentityFormat, NumberRange, ProductSettings, Resource

PROTOCOL = "onep:v1/http"  # the HTTPS API of document 1
MOST_RESOURCES = 1000  # of a product to which scripts add some
ALL_OF_THEM = 2**62  # more devices than there are
ATTEMPTS = 100  # to find a new identity
Format = Literal["string", "number", "boolean"]
# Formats of the service, where they differ from those of the settings.
FORMATS: Mapping[str, str] = MappingProxyType({"integer": "number", "float": "number"})


def shown_resource(resource: Resource) -> dict[str, object]:
    """Return a resource as scripts receive it: format, unit, settable and allowed, and initial where there is one."""
    allowed = [
        {"min": each.min, "max": each.max} if isinstance(each, NumberRange) else each
        for each in resource.allowed
    ]
    return {
        "format": FORMATS.get(resource.format, resource.format),
        "unit": resource.unit,
        "settable": resource.settable,
        "allowed": allowed,
        **({} if resource.initial is None else {"initial": resource.initial}),
    }


def shown_settings(settings: ProductSettings) -> dict[str, object]:
    """Return how devices connect to a product: protocol and provisioning."""
    return {
        "protocol": {"name": PROTOCOL, "devmode": False},
        "provisioning": {"enabled": settings.provisioning},
    }


class Device2(Service):
    """Service for the devices of the products that the calling solution is linked to.

    pid: the product's id, as in events; it may be omitted if the solution has a single product. A product with an alias
    in the settings (`aliases`) also has its own service: `Lightbulb.getIdentity`. Resources and settings of a product
    are those of the lab's settings until a script changes them, which lasts until a reset. `events.types` of the
    configuration lists the types of events that the solution's handlers get. Error objects have `code`, too.
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
        """Return a device: identity, pid, status, locked, auth, lastip, lastseen, tags, state. 404 if there is none.

        status: whitelisted, provisioned or locked; auth: {type}, once it has a credential; lastip, lastseen
        (microseconds): of its last request since the lab's start; tags: as getIdentityTag returns them; state: as
        getIdentityState returns it.
        """
        product, device = await self._device(caller, pid, identity)
        tags, state = await product.access.tags(identity), await product.access.state(identity)
        return {**device_record(product, device, tags), "state": shown_state(state)}

    @operation
    async def listIdentities(
        self,
        caller: Caller,
        identity: Identity | None = None,
        status: Statuses = (),  # type: ignore[assignment]  # as an empty list
        tag: ChosenTags = (),  # type: ignore[assignment]
        limit: Limit = 1000,
        offset: Offset = 0,
        before: Offset | None = None,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """List the devices, by identity: {devices, mayLoadMore}.

        devices: a list of what getIdentity returns; mayLoadMore: whether there are more of them. identity: a pattern,
        where `*` matches any characters; status: one or a list of whitelisted, provisioned and locked; tag: a tag that
        they have, or a list of tags, as in removeIdentityTag; limit: 1 to 10000; before: only devices whose last
        request was before this time (microseconds).
        """
        product = self._product(caller, pid)
        wanted = _selection(identity, status, tag)
        if before is None:
            found = await product.access.select(wanted, limit + 1, offset)
        else:
            times = (
                (each, product.access.seen(each.identity))
                for each in await product.access.select(wanted, ALL_OF_THEM)
            )
            found = [each for each, seen in times if seen and seen[1] < before][offset : offset + limit + 1]
        may_load_more = len(found) > limit
        found = found[:limit]
        more = await product.access.tags_and_states([each.identity for each in found])
        shown = []
        for each in found:
            tags, state = more[each.identity]
            shown.append({**device_record(product, each, tags), "state": shown_state(state)})
        return {"devices": shown, "mayLoadMore": may_load_more}

    @operation
    async def countIdentities(
        self,
        caller: Caller,
        identity: Identity | None = None,
        status: Statuses = (),  # type: ignore[assignment]  # as an empty list
        tag: ChosenTags = (),  # type: ignore[assignment]
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
        await add_identity(product, identity)
        if auth is not None:
            await _replace_credential(product, identity, auth)
        return {}

    @operation
    async def addIdentities(
        self, caller: Caller, identities: Identities, pid: Pid | None = None
    ) -> dict[str, object]:
        """Whitelist at most 1000 identities: {identities}, a list of {identity} in their order.

        identities: a list of identities, or of {identity, auth}. One that addIdentity would refuse has the fields of
        its error, and the others are added.
        """
        add = self.addIdentity
        return await self._each(
            caller, pid, identities, lambda one, pid: add(caller, one.identity, one.auth, pid)
        )

    @operation
    async def makeIdentity(
        self, caller: Caller, auth: Auth | None = None, pid: Pid | None = None
    ) -> dict[str, object]:
        """Whitelist a new identity in the product's format, and return {identity}. 400 if no identity has that format.

        auth: its credential, as in updateIdentity. 409 if nearly all identities of that format are taken.
        """
        product = self._product(caller, pid)
        for _ in range(ATTEMPTS):
            made = made_identity(product.settings.identity_format, self._context.identifiers, product.id)
            try:
                await self.addIdentity(caller, made, auth, pid)
            except ServiceError as error:
                if error.status != 409:
                    raise
            else:
                return {"identity": made}
        raise ServiceError(409, f"no free identity of the product's format in {ATTEMPTS} attempts")

    @operation
    async def updateIdentity(
        self,
        caller: Caller,
        identity: Identity,
        auth: Auth | None = None,
        locked: StrictBool | None = None,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """Replace the credential of a device, which needs no activation then, or lock or unlock it.

        auth: {key, type}; type: token (40 characters), password (at least 20) or certificate (PEM, whose CN is the
        identity), by default and only that of the product; the old credential ends at once. locked: whether its
        requests are refused, even with valid credentials. 404 if there is no such device, 400 for a credential that the
        product does not accept or that another device has, for that of a locked device, and without auth and locked.
        """
        if auth is None and locked is None:
            raise MistakeError(400, "Parameter auth or locked is required.")
        product, _ = await self._device(caller, pid, identity)
        if auth is not None:
            await _check_credential(product, identity, auth)
        try:
            if locked is False:
                await product.access.lock(identity, False)
            if auth is not None:
                await _replace_credential(product, identity, auth)
            if locked:
                await product.access.lock(identity, True)
        except UnknownError:
            raise missing_identity(identity) from None
        return {}

    @operation
    async def updateIdentities(
        self, caller: Caller, identities: Identities, pid: Pid | None = None
    ) -> dict[str, object]:
        """Change at most 1000 devices as updateIdentity does, and return {identities} as addIdentities does.

        identities: a list of {identity, auth, locked}.
        """
        update = self.updateIdentity
        return await self._each(
            caller, pid, identities, lambda one, pid: update(caller, one.identity, one.auth, one.locked, pid)
        )

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
        self,
        caller: Caller,
        identity: Identity,
        tags: ChosenTags | None = None,
        name: TagName | None = None,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """Remove tags of a device: a list of {name, value}, or all of a name. 404 if there is no such device.

        Without value all tags of the name are removed; tags that the device does not have are ignored. 400 without tags
        and name.
        """
        if tags is None and name is None:
            raise MistakeError(400, "Parameter tags or name is required.")
        product, _ = await self._device(caller, pid, identity)
        named = [] if name is None else [Tag(name, None)]
        await product.access.remove_tags(identity, [*as_tags(tags or ()), *named])
        return {}

    @operation
    async def listTagNames(
        self, caller: Caller, limit: Limit = 1000, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return {names}: the names of the tags that devices of the product have, in order. limit: 1 to 10000."""
        return {"names": await self._product(caller, pid).access.tag_names(limit)}

    @operation
    async def removeIdentity(
        self, caller: Caller, identity: Identity, pid: Pid | None = None
    ) -> dict[str, object]:
        """Delete a device with its credentials; its datapoints stay. 404 if there is none."""
        product = self._product(caller, pid)
        try:
            await product.access.remove(identity, caller.cause)
        except LabError:
            raise missing_identity(identity) from None
        return {}

    @operation
    async def removeIdentities(
        self, caller: Caller, identities: Identities, pid: Pid | None = None
    ) -> dict[str, object]:
        """Delete at most 1000 devices, a list of identities, and return {identities} as addIdentities does."""
        remove = self.removeIdentity
        return await self._each(caller, pid, identities, lambda one, pid: remove(caller, one.identity, pid))

    @operation
    async def getIdentityState(
        self, caller: Caller, identity: Identity, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return a device's state: {alias: {reported, set, timestamp}}. 404 if there is no such device.

        reported: the value that the device reported; set: the value that was set for it, of a settable resource also by
        the device itself; timestamp: of the newer of the two, in microseconds. A missing value is left out.
        """
        product, _ = await self._device(caller, pid, identity)
        return shown_state(await product.access.state(identity))

    @operation
    async def setIdentityState(
        self, caller: Caller, /, identity: Identity, pid: Pid | None = None, **others: object
    ) -> dict[str, object]:
        """Set values of a device's resources: `setIdentityState{identity = "t-001", target = 21}`.

        Adds a datapoint with the current second as timestamp to every given alias, and answers pending polls; emits no
        event but `data_out`. A value is text, a number or a boolean. 404 if there is no such device; 400 for an alias
        that is no resource or is not settable, or for a value that the resource refuses: then nothing is set.
        """
        if not others:
            raise MistakeError(400, "expected at least one <alias> = <value>")
        values = {alias: value_text(alias, value) for alias, value in others.items()}
        product, _ = await self._device(caller, pid, identity)
        try:
            await product.access.set(identity, values, caller.cause)
        except LabError as error:
            raise MistakeError(400, sentence(f"Parameter {error}")) from None
        return {}

    @operation
    async def getGatewayResource(
        self, caller: Caller, alias: AliasName, pid: Pid | None = None
    ) -> dict[str, object]:
        """Return a resource of the product: {alias, format, unit, settable, allowed, initial}. 404 if there is none.

        format: number, string or boolean; allowed: values, and ranges as {min, max}; empty for any value; initial: as
        of addGatewayResource, absent without one.
        """
        return {"alias": alias, **shown_resource(_resource(self._product(caller, pid), alias))}

    @operation
    async def getGatewayResourceList(self, caller: Caller, pid: Pid | None = None) -> dict[str, object]:
        """Return the resources of the product by alias, each with format, unit, settable and allowed."""
        resources = self._product(caller, pid).settings.resources
        return {alias: shown_resource(each) for alias, each in sorted(resources.items())}

    @operation
    async def getGatewaySettings(self, caller: Caller, pid: Pid | None = None) -> dict[str, object]:
        """Return how devices connect to the product: {fqdn, protocol = {name, devmode}, provisioning = {enabled}}.

        fqdn: its host name; name: of the protocol, onep:v1/http; devmode: whether devices may do without TLS, always
        false; enabled: whether devices may activate themselves.
        """
        product = self._product(caller, pid)
        return {"fqdn": product.domain, **shown_settings(product.settings)}

    @operation
    async def updateGatewaySettings(
        self, caller: Caller, provisioning: Provisioning, pid: Pid | None = None
    ) -> dict[str, object]:
        """Change how devices connect to the product, as {provisioning = {enabled = false}}; it lasts until a reset.

        enabled: whether devices may activate themselves; generate_identity: whether also those that are not
        whitelisted.
        """
        given = {"provisioning": provisioning.enabled, "self_registration": provisioning.generate_identity}
        changes = {name: value for name, value in given.items() if value is not None}
        await self._product(caller, pid).change_by_script(changes)
        return {}

    @operation
    async def addGatewayResource(
        self,
        caller: Caller,
        alias: AliasName,
        format: Format = "string",
        unit: str = "",
        settable: StrictBool = False,
        allowed: Allowed = (),  # type: ignore[assignment]  # as an empty list
        initial: Plain | None = None,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """Add a resource to the product; it lasts until a reset.

        409 if there is one of this alias, 403 beyond 1000, 400 for a wrong one.

        format: number, string or boolean; unit: for people; settable: whether scripts may set its value; allowed: a
        list of values, and of ranges as {min, max}; initial: value that is set for each device from the start, if it
        is settable.
        """
        product = self._product(caller, pid)
        resources = product.settings.resources
        if alias in resources:
            raise ServiceError(409, f"Resource {shown_name(alias)} already exists")
        if len(resources) >= MOST_RESOURCES:
            raise ServiceError(403, f"a product may have at most {MOST_RESOURCES} resources")
        given = {"format": format, "unit": unit, "settable": settable, "allowed": allowed, "initial": initial}
        return await _change_resource(product, alias, given)

    @operation
    async def updateGatewayResource(
        self,
        caller: Caller,
        alias: AliasName,
        format: Format | None = None,
        unit: str | None = None,
        settable: StrictBool | None = None,
        allowed: Allowed | None = None,
        initial: Plain | None = None,
        pid: Pid | None = None,
    ) -> dict[str, object]:
        """Change the given fields of a resource of the product, as in addGatewayResource. 404 if there is none."""
        product = self._product(caller, pid)
        before = _resource(product, alias).model_dump()
        given = {"format": format, "unit": unit, "settable": settable, "allowed": allowed, "initial": initial}
        changed = {name: value for name, value in given.items() if value is not None}
        return await _change_resource(product, alias, before | changed)

    @operation
    async def removeGatewayResource(
        self, caller: Caller, alias: AliasName, pid: Pid | None = None
    ) -> dict[str, object]:
        """Remove a resource from the product; its datapoints stay. 404 if there is none."""
        product = self._product(caller, pid)
        _resource(product, alias)
        return await _change_resource(product, alias, None)

    addResource = also_named("addResource", addGatewayResource)  # noqa: N815
    updateResource = also_named("updateResource", updateGatewayResource)  # noqa: N815
    listTagName = also_named("listTagName", listTagNames)  # noqa: N815

    # ---- lifecycle

    def services(self, solution: str) -> Mapping[str, Service]:
        """Return a solution's products that have an alias, by alias."""
        return self._aliased.get(solution, {})

    def check(self, solution: NamedSolution, configuration: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise SettingsError for an alias of a service or of another's product, and for unknown types of events.

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
        if found is not None:
            own = self._context.configuration.get(solution, {}).get(self.name, {})
            found.choose_events((own.get("events") or {}).get("types"))
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

    def error_object(self, error: ServiceError) -> dict[str, object]:
        """Return the error object with its status as `code`, too."""
        return {**super().error_object(error), "code": error.status}

    async def _each(
        self,
        caller: Caller,
        pid: str | None,
        identities: Sequence[NewIdentity],
        act: Callable[[NewIdentity, str], Awaitable[object]],
    ) -> dict[str, object]:
        """Act on each identity, and return the identities, those that are refused with their errors."""
        product, found = self._pid(caller, pid), []
        for each in identities:
            shown: dict[str, object] = {"identity": each.identity}
            try:
                await act(each, product)
            except ServiceError as error:
                shown |= self.error_object(error)
            found.append(shown)
        return {"identities": found}

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


def device_record(product: PlatformProduct, device: DeviceRecord, tags: Sequence[Tag]) -> dict[str, object]:
    """Return a device without its state."""
    seen = product.access.seen(device.identity)
    return {
        "identity": device.identity,
        "pid": device.product,
        "status": device.status,
        "locked": device.locked,
        "tags": shown_tags(tags),
        **({} if device.digest is None else {"auth": {"type": product.settings.auth}}),
        **({} if seen is None else {"lastip": seen[0], "lastseen": seen[1]}),
    }


def shown_state(state: Mapping[str, Value]) -> dict[str, object]:
    """Return the state of a device as scripts receive it."""
    found: dict[str, object] = {}
    for alias, value in state.items():
        both = {"reported": value.reported, "set": value.set}
        known: dict[str, object] = {name: each for name, each in both.items() if each is not None}
        found[alias] = {**known, "timestamp": value.timestamp * 1_000_000}
    return found


def _selection(identity: str | None, statuses: Sequence[str], tags: Sequence[ChosenTag]) -> DeviceSelection:
    return DeviceSelection(identity, statuses, as_tags(tags))


def _resource(product: PlatformProduct, alias: str) -> Resource:
    """Return a resource of a product. Raises ServiceError 404."""
    found = product.settings.resources.get(alias)
    if found is None:
        raise ServiceError(404, f"Resource {shown_name(alias)} Not Found")
    return found


async def _change_resource(
    product: PlatformProduct, alias: str, fields: Mapping[str, object] | None
) -> dict[str, object]:
    """Set or remove a resource of a product. Raises ServiceError 400 for a wrong one."""
    try:
        await product.change_by_script({f"{RESOURCE}{alias}": fields})
    except SettingsError as error:
        text = str(error).removeprefix(f"product {product.id!r}.")
        raise ServiceError(400, sentence(f"Parameter {text}")) from None
    return {}


def made_identity(format: IdentityFormat, identifiers: Identifiers, product: str) -> str:
    """Return a new identity of a format, of 20 characters where it leaves the length open."""
    length = format.length or {"uuid": 36, "mac": 17}.get(format.type, 20)
    digits = identifiers.hex(f"{product} identity", 512)
    if format.type == "base10":
        digits = str(int(digits, 16))
    elif format.type == "uuid":
        digits = str(UUID(digits[:32]))
    elif format.type == "mac":
        digits = ":".join(digits[each : each + 2] for each in range(0, 12, 2))
    rest = digits[:length]
    return format.prefix + (rest.upper() if format.casing == "upper" else rest)


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
