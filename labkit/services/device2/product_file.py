"""Parameters of the service Device2, `services/device2.yaml`, which describe a product."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, IPvAnyNetwork, StrictBool

from labkit.devices.device_events import EventType
from labkit.services.operation import WithoutEffect
from labkit.settings.products import IdentityType, Resource
from labkit.settings.values import Alias, Auth, ShortName


class FilePart(BaseModel):
    """Base class of the parts of the file, which may have keys that labkit does not know."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class FileResource(Resource):
    """A resource; `sync` and others of its keys have no effect."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    sync: WithoutEffect = None


class Options(FilePart):
    """Letter case and length of identities; the length 0 is any."""

    casing: Literal["mixed", "upper", "lower"] = "mixed"
    length: Annotated[int, Field(strict=True, ge=0, le=256)] = 0


class FileFormat(FilePart):
    """Format of identities."""

    type: IdentityType = "opaque"
    prefix: ShortName = ""
    options: Options = Options()


class Addresses(FilePart):
    """IP addresses and networks from which devices may provision, if it is enabled."""

    enabled: StrictBool = False
    allowed: tuple[IPvAnyNetwork, ...] = ()


class FileProvisioning(FilePart):
    """Provisioning of devices; generate_identity: whether they may register their own identity."""

    enabled: StrictBool = True
    auth_type: Auth = "token"
    generate_identity: StrictBool = True
    ip_whitelisting: Addresses = Addresses()
    presenter_identity: WithoutEffect = None
    expire: WithoutEffect = None


class ChosenEvents(FilePart):
    """Events that a solution's handlers get, by their types; without them all."""

    types: tuple[EventType, ...] | None = None


NAMES = {"enabled": "provisioning", "auth_type": "auth", "generate_identity": "self_registration"}


class ProductFile(FilePart):
    """Product that a solution describes (published references, services/device2)."""

    resources: dict[Alias, FileResource] = {}
    identity_format: FileFormat | None = None
    provisioning: FileProvisioning = FileProvisioning()
    events: ChosenEvents = ChosenEvents()
    protocol: WithoutEffect = None
    pki: WithoutEffect = None
    tags_schema: WithoutEffect = None
    permission: WithoutEffect = None

    def settings(self) -> dict[str, Any]:
        """Return the settings of the product that the file names, as plain values."""
        given = self.provisioning.model_dump(include=self.provisioning.model_fields_set & NAMES.keys())
        found: dict[str, Any] = {NAMES[name]: value for name, value in given.items()}
        if self.provisioning.ip_whitelisting.enabled:
            found["provisioning_from"] = self.provisioning.ip_whitelisting.allowed
        if self.resources:
            found["resources"] = {
                alias: each.model_dump(exclude_unset=True, exclude={"sync"})
                for alias, each in self.resources.items()
            }
        if (form := self.identity_format) is not None:
            found["identity_format"] = {"type": form.type, "prefix": form.prefix, **form.options.model_dump()}
        return found
