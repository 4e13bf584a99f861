"""The handle of a product."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

from labkit.control.products import ContentInfo, ProductInfo
from labkit.core.errors import LabError, NoAttributeError, did_you_mean, unknown
from labkit.core.handle import Handle
from labkit.core.keywords import shows_keywords
from labkit.fleet.credential_store import CredentialStore
from labkit.fleet.device import Credentials
from labkit.lab.arguments import content_bytes, duration, text_list, value_texts
from labkit.lab.client import rooted
from labkit.lab.delays import ask
from labkit.lab.device import Device, new_device
from labkit.lab.fleet import Behaviours, Fleet, make_fleet
from labkit.lab.handle_states import HandleStates, credentials_data, credentials_of, states_data, states_of
from labkit.lab.polls import DevicePolls, PollWait
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, frame_of
from labkit.settings import ProductKeywords, ProductSettings

if TYPE_CHECKING:
    import pandas

    from labkit.control.devices import Action, DeviceAnswer


MOST_COMPARED = 200  # ids that may have been meant by a similar one


class Product(Handle):
    """A product of a lab: its virtual devices and fleets, settings, content and identities."""

    settings: LiveSettings

    def __init__(self, runtime: Runtime, info: ProductInfo) -> None:
        self._runtime = runtime
        self._control = runtime.control.identities
        self._fixed = info
        self._devices: dict[str, Device] = {}
        self.credential_store = CredentialStore()
        self.content = ProductContent(runtime, info.id)
        self.settings = LiveSettings(runtime, info.id)

    @property
    def id(self) -> str:
        """Id of the product."""
        return self._fixed.id

    @property
    def domain(self) -> str:
        """Host name of the product, which devices send in SNI and Host."""
        return self._fixed.domain

    def url(self, path: str = "") -> str:
        """Return the URL of a path at the product's domain."""
        return self._fixed.url + (rooted(path) if path else "")

    def device(self, identity: str) -> Device:
        """Return the virtual device with this identity, the same handle each time."""
        if not isinstance(identity, str):
            raise LabError(f"identity: expected a text such as 't-001', not {identity!r}")
        if identity not in self._devices:
            self._devices[identity] = new_device(self._runtime, self._fixed, identity)
        return self._devices[identity]

    def held(self, identity: str, alias: str, count: int = 1, within: float = 5.0) -> PollWait:
        """Return a wait for held polls like `Device.held`, without making a handle of the device.

        identity: of the device; alias, count, within: as there.
        """
        waiting = DevicePolls(self._runtime, self.id, identity)
        return PollWait(waiting, alias, count, duration(within, "within"))

    def wait_for_poll(self, identity: str, alias: str, count: int = 1, within: float = 5.0) -> None:
        """Wait until the platform holds `count` long polls of a device open, whichever client sent them.

        identity: of the device; alias: name of the resource. within: seconds of real time after which it raises
        LabError. In async code: `await product.held(…)`.
        """
        self.held(identity, alias, count, within).result()

    def fleet(
        self,
        count: int | Mapping[Any, int] | None = None,
        behaviour: Behaviours | None = None,
        *,
        seed: int | None = None,
        prefix: str | None = None,
        identities: Iterable[str] | None = None,
        provisioned: bool = True,
        keep: bool = False,
    ) -> Fleet:
        """Provision virtual devices, up to thousands of them, and return them as a fleet.

        `fleet(200, Thermostat)`, `fleet(200, Thermostat(every=60))`, `fleet({Thermostat: 150, Flaky: 50})`, where the
        first 150 devices are thermostats.

        count: number of devices, for each behaviour where it is a mapping. behaviour: what they do.
        seed: of the devices' random numbers; by default the lab's seed, or a random one. prefix: start of each
        identity; by default that of the identity format, or the first letter of the product's id (`t-001`, `t-002`
        …). identities: all identities, instead of a prefix. provisioned: whether the devices have credentials; without,
        a behaviour begins with `device.activate()`. keep: whether devices that an earlier fleet of the product has, as
        after `lab.restore`, keep their credentials and count their epochs on.
        """
        return make_fleet(self._runtime, self, count, behaviour, seed, prefix, identities, provisioned, keep)

    def handle_credentials(self, identity: str) -> Credentials | None:
        """Return the credentials in the handle of a device, None if the device has no handle.

        identity: of the device.
        """
        device = self._devices.get(identity)
        return None if device is None else device.credentials

    def handle_states(self) -> dict[str, Any]:
        """Return the credentials in the handles of devices and in fleets, as plain data; for `Lab.snapshot`."""
        devices = {name: credentials_data(each.credentials) for name, each in self._devices.items()}
        fleets = {
            name: (credentials_data(credentials), epoch)
            for name, (credentials, epoch) in self.credential_store.snapshot().items()
        }
        return states_data(HandleStates(devices, fleets))

    def restore_handles(self, data: object = None) -> None:
        """Replace the credentials of all devices, in handles and in fleets. data: from `handle_states`; None: none."""
        states = HandleStates() if data is None else states_of(data)
        for identity, device in self._devices.items():
            device.use(credentials_of(states.devices.get(identity, {})))
        for identity, data in states.devices.items():
            self.device(identity).use(credentials_of(data))
        self.credential_store.restore(
            {name: (credentials_of(data), epoch) for name, (data, epoch) in states.fleets.items()}
        )

    def clear_handles(self) -> None:
        """Remove the credentials from the handles of all virtual devices; the platform keeps its records of them."""
        for device in self._devices.values():
            device.use(Credentials())
        self.credential_store.clear()

    def devices(self) -> pandas.DataFrame:
        """Return a DataFrame of the devices that the platform knows: identity, status, whitelisted."""
        known = self._runtime.run(self._control.all, self.id)
        return frame_of(known, ("identity", "status", "whitelisted"), "identity")

    def allow(self, *identities: str | Iterable[str], token: str | None = None) -> None:
        """Whitelist identities: `allow("t-001", "t-002")`.

        token: 40 characters that become the token of the one given identity, so that it need not activate.
        """
        named = text_list(identities, "identities such as 't-001'")
        self._runtime.run(self._control.allow, self.id, named, token)

    def lock(self, identity: str) -> None:
        """Refuse the device with this `identity`, even with valid credentials."""
        self._runtime.run(self._control.lock, self.id, identity)

    def unlock(self, identity: str) -> None:
        """Accept the locked device with this `identity` again."""
        self._runtime.run(self._control.unlock, self.id, identity)

    def forget_credentials(self, identity: str) -> None:
        """Have the platform lose a device's credentials: its requests get 401, and it may activate anew.

        identity: of the device. A fault does the same at a request: `lab.faults.add("POST /onep:v1/stack/alias",
        forget=True, first=1)`.
        """
        self._runtime.run(self._control.forget_credentials, self.id, identity)

    def remove(self, identity: str) -> None:
        """Delete the device with this `identity`, its credentials and its whitelisting."""
        self._runtime.run(self._control.remove, self.id, identity)

    def act(
        self,
        identity: str,
        action: Action,
        values: Mapping[str, object] | None = None,
        *,
        aliases: Iterable[str] = (),
        timeout: float = 30,
        since: str | None = None,
        content: str | None = None,
    ) -> DeviceAnswer:
        """Send a request as a device whose credentials the lab keeps, and return the answer, also a refusal.

        `product.act("t-001", "activate")`, then `product.act("t-001", "write", {"temperature": 21.5})`. Other programs
        act as the same device by the operation `devices.act`; `device(identity)` has credentials of its own.

        action: activate, write, read, poll or download. identity: of the device; values: to write, by alias; aliases:
        to read, or the one to poll; timeout: seconds of lab time that a poll waits; since: `modified` of its last
        value; content: id of the item to download. Raises LabError for a poll that only a stopped clock could end.
        """
        texts, named = value_texts(values, {}), text_list([aliases], "aliases such as 'temperature'")
        arguments = (self.id, identity, action, texts, named, duration(timeout, "timeout"), since, content)
        function = self._runtime.control.devices.act
        if action == "poll":
            return DevicePolls(self._runtime, self.id, identity).answer(function, *arguments)
        return ask(self._runtime, f"{self.id}/{identity}", function, *arguments)

    def cut(self, identity: str) -> int:
        """End the connections of the device with this `identity`, as a network that fails; return their number."""
        return self._runtime.run(self._runtime.control.devices.cut, self.id, identity)

    def __repr__(self) -> str:
        return f"<product {self.id} at {self.domain}>"

    def _repr_html_(self) -> str:
        settings = self.settings
        return card(
            f"product {self.id}",
            {
                "domain": self.domain,
                "authentication": settings.auth,
                "self-registration": settings.self_registration,
                "resources": ", ".join(f"{alias} ({r.format})" for alias, r in settings.resources.items()),
            },
        )


class LiveSettings(Handle):
    """The current settings of a product: read `settings.auth`, change by `settings.self_registration = False`.

    Change several together with `change(self_registration=False, identity_format={"type": "mac"})`. Raises
    SettingsError, and changes nothing, if one is wrong.
    """

    def __init__(self, runtime: Runtime, product: str) -> None:
        object.__setattr__(self, "_runtime", runtime)
        object.__setattr__(self, "_product", product)

    @shows_keywords(ProductKeywords, ProductSettings)
    def change(self, **values: Unpack[ProductKeywords]) -> LiveSettings:
        """Change settings while the lab runs. Raises SettingsError, and changes nothing, if one is wrong."""
        runtime: Runtime = self._runtime
        runtime.run(runtime.control.products.change, self._product, values)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in ProductSettings.model_fields:
            raise NoAttributeError(unknown("setting", name, dir(self)))
        value = getattr(self._now(), name)
        return MappingProxyType(value) if isinstance(value, Mapping) else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ProductSettings.model_fields:
            raise NoAttributeError(unknown("setting", name, dir(self)))
        self.change(**{name: value})

    def __dir__(self) -> list[str]:
        return [*ProductSettings.model_fields, "change"]

    def _now(self) -> ProductSettings:
        runtime: Runtime = self._runtime
        return runtime.run(runtime.control.products.get, self._product).settings

    def __repr__(self) -> str:
        return repr(self._now())

    def _repr_html_(self) -> str:
        return card(f"settings of {self._product}", self._now().model_dump())


class ProductContent(Handle):
    """Content items that a product offers for download."""

    def __init__(self, runtime: Runtime, product: str) -> None:
        self._runtime = runtime
        self._control = runtime.control.content
        self._product = product

    def add(
        self,
        id: str,
        data: bytes | str | Path,
        type: str = "application/octet-stream",
        description: str = "",
    ) -> ContentInfo:
        """Add a content item, or replace it.

        id: its id; data: bytes, a text, or the Path of a file; type: its content type; description: text that devices
        can read.
        """
        return self._runtime.run(self._control.add, self._product, id, content_bytes(data), type, description)

    def remove(self, id: str) -> None:
        """Remove a content item. Raises UnknownError if there is none with this id."""
        self._runtime.run(self._control.remove, self._product, id)

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame of the content items: type, size in bytes, updated (UTC), description."""
        return frame_of(self, ("id", "type", "size", "updated", "description"), "id")

    def __iter__(self) -> Iterator[ContentInfo]:
        return iter(self._runtime.run(self._control.all, self._product))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"<content of {self._product}: {', '.join(item.id for item in self)}>"

    def _repr_html_(self) -> str:
        html: str = self.frame().to_html()
        return html


def warn_of_similar(
    runtime: Runtime, new: str, id: str, listed: Callable[[], Awaitable[Iterable[Any]]], handles: int
) -> None:
    """Warn that a product or a solution without settings is new if an existing one has a similar id.

    new: begins the warning; listed: returns the existing ones, of which those that differ in a number alone are not
    meant; handles: number of them that have one. Among many, which nobody has typed, none is sought.
    """
    if handles > MOST_COMPARED:
        return
    bare = re.sub(r"\d", "", str(id))
    others = [each.id for each in runtime.run(listed) if re.sub(r"\d", "", each.id) != bare]
    if len(others) <= MOST_COMPARED and (hint := did_you_mean(id, others)):
        runtime.warn(f"{new}{hint}")
