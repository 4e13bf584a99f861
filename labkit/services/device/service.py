"""The Device service, older than Device2: remote procedure calls on clients and resources (platform types).

Its calls act as the devices themselves: what they write is a value that the device reported, of any resource.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, cast

from labkit.context import Context
from labkit.core.errors import did_you_mean
from labkit.devices.identities import resource_id
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import ALL
from labkit.devices.state import Datapoint
from labkit.services.arguments import Limit, Offset
from labkit.services.device.errors import RpcError
from labkit.services.device.info import device_status
from labkit.services.device.procedures import Procedures
from labkit.services.device.requests import RpcCall, calls_of, client_id, shown_calls
from labkit.services.device.resources import RpcResources
from labkit.services.device.values import stored_value
from labkit.services.device_values import Identity, Pid, add_identity, missing_identity, product_id
from labkit.services.mistakes import MistakeError
from labkit.services.operation import Caller, Service, operation
from labkit.services.redaction import InJournal, redacted


class DeviceService(Service):
    """Service for the devices of the products that the calling solution is linked to, by ids of their resources.

    pid: the product's id, as in events; it may be omitted if the solution has a single product. Device2 is the newer
    service.
    """

    name: ClassVar[str] = "Device"

    def __init__(self, context: Context) -> None:
        self._context = context

    @operation
    async def rpcCall(
        self,
        caller: Caller,
        calls: Annotated[object, InJournal(shown_calls)],
        auth: Annotated[object, InJournal(redacted)] = None,
        pid: Pid | None = None,
    ) -> list[dict[str, object]]:
        """Run procedures one after the other, and return a list of {id, status, result}.

        calls: a list of {id, procedure, arguments}, at most 1000; one without id has no entry in the result.
        Procedures: activate, create, deactivate, drop, flush, info, listing, lookup, map, read, record, recordbatch,
        wait, write, writegroup; those that change or share resources are refused by name.
        auth: {client_id = rid} acts as that device, otherwise the calls act as the product. A resource is a rid, or
        {alias}: of the product an identity, of a device a resource, empty for the client itself.
        A call that fails has another status than ok, and error = {code, message, context}; a request that fails as a
        whole, such an error: code 400 malformed, 401 no such client.
        """
        product = self._product(caller, pid)
        acting, given = client_id(auth), calls_of(calls)
        resources = RpcResources(product)
        results = []
        if acting is not None:
            await resources.act_as(acting)
        procedures = Procedures(self._context, resources, f"{caller.solution} Device.rpcCall")
        for call in given:
            result = await _result(procedures, call)
            if call.id is not None:
                results.append({"id": call.id, **result})
        return results

    @operation
    async def write(
        self, caller: Caller, /, device_sn: Identity, pid: Pid | None = None, **others: object
    ) -> dict[str, object]:
        """Write values of a device's resources: `write{device_sn = "t-001", target = 21}`.

        Returns {alias = "ok"}, or "invalid" for an alias that is no resource, and for a value that the resource
        refuses: only the others are written. They are values that the device reported, of the current second; they
        answer pending polls, and emit no event. A value is text, a number or a boolean. 404 if there is no such device.
        """
        product = self._product(caller, pid)
        if not others:
            raise MistakeError(400, "expected at least one <alias> = <value>")
        if await product.access.find(device_sn) is None:
            raise missing_identity(device_sn)
        if unknown := [alias for alias in others if alias not in product.settings.resources]:
            meant = did_you_mean(unknown[0], product.settings.resources)
            text = f"Device.write: {unknown[0]}: no resource of product {product.id}{meant}"
            self._context.solutions.get(caller.solution).warn(text)
        points, outcomes, now = [], dict[str, object](), self._context.clock.seconds()
        for alias, value in others.items():
            try:
                text = stored_value(product, alias, value)
            except RpcError:
                outcomes[alias] = "invalid"
            else:
                points.append(Datapoint(alias, now, text))
                outcomes[alias] = "ok"
        if points:
            await product.access.store(device_sn, points, written=True)
        return outcomes

    @operation
    async def create(self, caller: Caller, device_sn: Identity, pid: Pid | None = None) -> str:
        """Whitelist an identity and return its rid. 409 if it exists, 400 if the product does not accept it."""
        product = self._product(caller, pid)
        await add_identity(product, device_sn)
        return resource_id(product.id, device_sn)

    @operation
    async def productInfo(self, caller: Caller, pid: Pid | None = None) -> dict[str, object]:
        """Return the product: {id, rid, label, endpoint}. label: its name; endpoint: its host name."""
        product = self._product(caller, pid)
        rid = resource_id(product.id)
        return {"id": product.id, "rid": rid, "label": product.id, "endpoint": product.domain}

    @operation
    async def list(
        self, caller: Caller, pid: Pid | None = None, offset: Offset = 0, limit: Limit = 1000
    ) -> list[dict[str, object]]:
        """Return a list of the devices, by identity: each {sn, rid, status}.

        sn: the identity; status: activated, notactivated or locked; limit: 1 to 10000.
        """
        product = self._product(caller, pid)
        return [
            {
                "sn": each.identity,
                "rid": resource_id(product.id, each.identity),
                "status": device_status(each),
            }
            for each in await product.access.select(ALL, limit, offset)
        ]

    def _product(self, caller: Caller, pid: str | None) -> PlatformProduct:
        found = product_id(self._context, caller.solution, pid)
        return cast(PlatformProduct, self._context.products.get(found))


async def _result(procedures: Procedures, call: RpcCall) -> dict[str, object]:
    """Run a call and return its status and its result, or its error."""
    try:
        status, result = await procedures.run(call.procedure, call.arguments)
    except RpcError as error:
        return {"status": error.outcome, "error": error.detail()}
    return {"status": status} if result is None else {"status": status, "result": result}
