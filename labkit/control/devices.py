"""Operations that act as a device of a product, and that cut its connections."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from labkit.control.addresses import lab_address
from labkit.control.bounds import Id, Line, Seconds, Values, waits
from labkit.control.clock import number_of
from labkit.control.data import Base64, Data
from labkit.control.identities import IdentitiesControl
from labkit.control.json_values import to_json
from labkit.core.errors import LabError, UnknownError, unknown
from labkit.fleet.device import Credentials, DeviceError, VirtualDevice
from labkit.platform import Platform

Action = Literal["activate", "write", "read", "poll", "download"]
# Argument that an action needs.
NEEDED = {"activate": "", "write": "values", "read": "aliases", "poll": "aliases", "download": "content"}
CUT = "the connections of this device were cut"
NONE = (
    "the lab keeps no credentials of this device: activate it here first; if another program has activated it, "
    "forget its credentials before that"
)


class DeviceAnswer(Data):
    """Answer of the platform to a device. status: HTTP status, None where the connection ended without an answer.

    reason: of a refusal, or of a missing answer; values: texts by alias that a read or a poll returned; modified: of a
    poll's value, for `since` of the next one; content: of a download.
    """

    status: int | None
    reason: str = ""
    values: dict[str, str] = Field(default={})
    modified: str | None = None
    content: Base64 | None = None


class DevicesControl:
    """Operations in the place of a device, and of its network. Each raises LabError for an unknown product."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._credentials: dict[tuple[str, str], Credentials] = {}

    @waits
    async def act(
        self,
        product: Id,
        identity: Id,
        action: Action,
        values: Values | None = None,
        aliases: Annotated[Sequence[Id], Field(max_length=1000)] = (),
        timeout: Seconds = 30.0,
        since: Line | None = None,
        content: Line | None = None,
    ) -> DeviceAnswer:
        """Send a request as a virtual device, by HTTPS, and return the answer; a refusal is an answer, too.

        action: `activate` keeps the credentials for the next actions of the device, and gets new ones if these are not
        valid any more; a `write` with aliases reads these in the same request. values: to write, by alias; aliases: to
        read, or the one to poll; timeout: seconds of lab time, at most 300, that a poll waits; since: `modified` of the
        value before, of a poll; content: id of the item to download. Each action has a connection of its own. On a
        virtual clock nothing ends a poll but another call: over HTTP, begin it with `Prefer: respond-async`. Raises
        LabError for an argument that the action needs.
        """
        import httpx

        if action not in NEEDED:
            raise UnknownError(unknown("action", action, NEEDED))
        given = {"": True, "values": values, "aliases": aliases, "content": content}
        if not given[NEEDED[action]]:
            raise LabError(f"{action} needs {NEEDED[action]}=…")
        found = self._platform.devices.products.get(product)
        device = VirtualDevice(
            lab_address(self._platform),
            found.domain,
            found.settings.auth,
            identity,
            partial(IdentitiesControl(self._platform).password, product, identity),
        )
        kept = self._credentials.get((product, identity))
        await device.use(kept or Credentials())
        try:
            if action == "activate":
                await _activate(device)
                self._credentials[product, identity] = device.credentials
                return DeviceAnswer(status=204 if device.token is None else 200)
            if action == "download":
                return DeviceAnswer(status=200, content=await device.download(content or ""))
            if action == "poll":
                return await _poll(device, aliases, number_of(timeout, "timeout"), since)
            texts = {
                name: each if isinstance(each, str) else json.dumps(to_json(each))
                for name, each in (values or {}).items()
            }
            if action == "write" and not aliases:
                await device.write(texts)
                return DeviceAnswer(status=204)
            asked = device.write_and_read(texts, aliases) if action == "write" else device.read(aliases)
            read = await asked
            return DeviceAnswer(status=200 if read else 204, values=read)
        except DeviceError as error:
            lacks = kept is None and error.status == 401 and action != "activate"
            return DeviceAnswer(status=error.status, reason=NONE if lacks else error.reason)
        except httpx.TransportError as error:
            return DeviceAnswer(status=None, reason=str(error))
        except ValueError as error:  # an identity that no certificate or URL can have
            raise LabError(f"{identity!r:.80}: {error}") from None
        finally:
            await device.close()

    async def cut(self, product: Id, identity: Id) -> int:
        """End the connections of a device at once, as a network that fails, and return their number.

        They are those on which it has authenticated; its requests in progress get no answer.
        """
        known = self._platform.devices.products.get(product).id
        return self._platform.edge.cut_device(known, identity, CUT)


async def _activate(device: VirtualDevice) -> None:
    """Activate a device: with its credentials, or if these are not valid, as one that has none."""
    try:
        await device.activate()
    except DeviceError as refusal:
        if refusal.status != 401 or device.credentials == Credentials():
            raise
        try:
            await device.activate(anew=True)
        except DeviceError:
            raise refusal from None


async def _poll(
    device: VirtualDevice, aliases: Sequence[str], timeout: float, since: str | None
) -> DeviceAnswer:
    alias, *others = aliases
    if others:
        raise LabError(f"aliases: a poll reads one, not {len(aliases)}")
    point = await device.poll(alias, timeout, since)
    if point is None:
        return DeviceAnswer(status=304)
    return DeviceAnswer(status=200, values={point.alias: point.value}, modified=point.modified)
