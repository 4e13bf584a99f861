"""Products: how devices identify themselves, their resources and content."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, model_validator

from labkit.settings.ranges import expanded
from labkit.settings.values import Alias, Auth, Host, Label, Model, Number


class IdentityFormat(Model):
    """Which identities a product takes (document 1, Resources; platform types).

    length: characters after the prefix, 0 for any.
    """

    type: Literal["opaque", "base10", "base16", "uuid", "mac"] = "opaque"
    prefix: str = ""
    casing: Literal["mixed", "upper", "lower"] = "mixed"
    length: Annotated[int, Field(strict=True, ge=0, le=256)] = 0


class NumberRange(Model):
    """Numbers from `min` to `max`, both included."""

    min: Number
    max: Number

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError("expected min to be at most max")
        return self


class Resource(Model):
    """A resource of a product: the format of its values, and which of them are allowed (empty: all)."""

    format: Literal["string", "number", "boolean", "integer", "float"] = "string"
    unit: str = ""
    settable: StrictBool = False
    allowed: tuple[NumberRange | float | str | bool, ...] = ()


def _resource(value: Any) -> Any:
    return {"format": value} if isinstance(value, str) else value


class ContentFile(Model):
    """Content of a product, read from a file; `id` defaults to the file's name."""

    file: Path
    id: str | None = None
    type: str = "application/octet-stream"
    description: str = ""


class ProductSettings(Model):
    """A product. `self_registration`: 'allow devices to register their own identity'.

    identities: whitelisted in advance; `w-{0001..2000}` is a range.
    """

    id: Label
    domain: Host | None = None
    auth: Auth = "token"
    provisioning: StrictBool = True
    self_registration: StrictBool = True
    identity_format: IdentityFormat = IdentityFormat()
    resources: dict[Alias, Annotated[Resource, BeforeValidator(_resource)]] = {}
    identities: Annotated[tuple[str, ...], AfterValidator(expanded)] = ()
    content: tuple[ContentFile, ...] = ()
