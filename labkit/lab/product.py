"""The handle of a product."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.devices.content import ContentInfo
from labkit.fleet.device import VirtualDevice
from labkit.fleet.flow import Address
from labkit.lab.device import Device
from labkit.lab.portal import Portal
from labkit.lab.show import card

if TYPE_CHECKING:
    import pandas

    from labkit.platform import Platform


class Product:
    """A product of a lab."""

    def __init__(self, portal: Portal, platform: Platform, id: str, address: Address) -> None:
        self._portal = portal
        self._platform = platform
        self._product = platform.products.get(id)
        self._address = address
        self._devices: dict[str, Device] = {}
        self._virtual: list[VirtualDevice] = []
        self.content = ProductContent(portal, platform, id)
        self.settings = LiveSettings(portal, platform, id)

    @property
    def id(self) -> str:
        return self._product.id

    @property
    def domain(self) -> str:
        """The product's domain, which SNI and Host name."""
        return self._product.domain

    def url(self, path: str = "") -> str:
        """The URL of a path at the product's domain."""
        return self._address.url(self.domain, path)

    def device(self, identity: str) -> Device:
        """A virtual device of this identity; the same handle each time."""
        if identity not in self._devices:
            identifiers = self._platform.identifiers
            actor = f"password/{self.id}/{identity}"
            virtual = VirtualDevice(
                self._address,
                self.domain,
                self._product.settings.auth,
                identity,
                lambda length: identifiers.alphanumeric(actor, length),
            )
            self._virtual.append(virtual)
            self._devices[identity] = Device(self._portal, self._platform, self.id, virtual)
        return self._devices[identity]

    def devices(self) -> pandas.DataFrame:
        """What the platform knows of the product's devices, a row each."""
        import pandas

        known = self._portal.run(self._platform.registry.all, self.id)
        rows = [[each.identity, each.status, each.whitelisted] for each in known]
        return pandas.DataFrame(rows, columns=["identity", "status", "whitelisted"]).set_index("identity")

    def allow(self, *identities: str, token: str | None = None) -> None:
        """Whitelist identities; with `token` (40 characters) they need not activate."""
        self._portal.run(self._platform.registry.allow, self.id, identities, token)

    def lock(self, identity: str) -> None:
        """Keep a device out, even with valid credentials."""
        self._portal.run(self._platform.registry.lock, self.id, identity)

    def unlock(self, identity: str) -> None:
        """Let a locked device in again."""
        self._portal.run(self._platform.registry.lock, self.id, identity, False)

    def remove(self, identity: str) -> None:
        """Forget a device, its credentials and its whitelisting."""
        self._portal.run(self._platform.registry.remove, self.id, identity)

    async def close(self) -> None:
        """Close the connections of the virtual devices."""
        for virtual in self._virtual:
            await virtual.close()

    def __repr__(self) -> str:
        return f"<product {self.id} at {self.domain}>"

    def _repr_html_(self) -> str:
        settings = self._product.settings
        return card(
            f"product {self.id}",
            {
                "domain": self.domain,
                "authentication": settings.auth,
                "self-registration": settings.self_registration,
                "resources": ", ".join(f"{alias} ({r.format})" for alias, r in settings.resources.items()),
            },
        )


class LiveSettings:
    """A product's settings: read as attributes, changed with `change(self_registration=False)`."""

    def __init__(self, portal: Portal, platform: Platform, id: str) -> None:
        self._portal = portal
        self._product = platform.products.get(id)

    def change(self, **values: object) -> LiveSettings:
        """Change settings on the running lab. Raises SettingsError, and changes nothing, if one is wrong."""
        self._portal.call(self._product.change, **values)
        return self

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._product.settings, name)
        except AttributeError:
            raise AttributeError(f"no setting {name!r}, there are: {', '.join(dir(self))}") from None

    def __dir__(self) -> list[str]:
        return [*type(self._product.settings).model_fields, "change"]

    def __repr__(self) -> str:
        return repr(self._product.settings)

    def _repr_html_(self) -> str:
        settings = self._product.settings
        return card(f"settings of {self._product.id}", settings.model_dump())


class ProductContent:
    """What a product offers for download."""

    def __init__(self, portal: Portal, platform: Platform, id: str) -> None:
        self._portal = portal
        self._content = platform.content
        self._product = id

    def add(
        self,
        id: str,
        data: bytes | str | Path,
        type: str = "application/octet-stream",
        description: str = "",
    ) -> ContentInfo:
        """Add an item or replace it. `data`: the bytes, a text, or the Path of a file."""
        return self._portal.run(self._content.add, self._product, id, _bytes(data), type, description)

    def remove(self, id: str) -> None:
        """Raises LabError where there is no such item."""
        self._portal.run(self._content.remove, self._product, id)

    def frame(self) -> pandas.DataFrame:
        """The items as a DataFrame: type, size in bytes, updated (UTC), description."""
        import pandas

        rows = [
            [
                item.id,
                item.type,
                item.size,
                pandas.Timestamp(item.updated, unit="s", tz="UTC"),
                item.description,
            ]
            for item in self._portal.run(self._content.list, self._product)
        ]
        columns = ["id", "type", "size", "updated", "description"]
        return pandas.DataFrame(rows, columns=columns).set_index("id")

    def __iter__(self) -> Any:
        return iter(self._portal.run(self._content.list, self._product))

    def __repr__(self) -> str:
        return f"<content of {self._product}: {', '.join(item.id for item in self)}>"

    def _repr_html_(self) -> str:
        html: str = self.frame().to_html()
        return html


def _bytes(data: bytes | str | Path) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    try:
        return data.read_bytes()
    except OSError as error:
        raise LabError(f"content: {data}: {error.strerror}") from error
