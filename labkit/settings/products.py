"""Settings of products: identities and authentication of devices, resources and content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, model_validator

from labkit.core.keywords import Doc
from labkit.settings.ranges import expand_ranges
from labkit.settings.values import (
    Alias,
    Auth,
    FreeText,
    Host,
    Label,
    Model,
    Number,
    Options,
    ShortName,
)

Format = Literal["string", "number", "boolean", "integer", "float"]


class IdentityFormat(Model):
    """Format of the identities that a product accepts (document 1, Resources; platform types).

    type: characters that are allowed; prefix: beginning of every identity; casing: letter case that is allowed; length:
    number of characters after the prefix, 0 for any.
    """

    type: Literal["opaque", "base10", "base16", "uuid", "mac"] = "opaque"
    prefix: ShortName = ""
    casing: Literal["mixed", "upper", "lower"] = "mixed"
    length: Annotated[int, Field(strict=True, ge=0, le=256)] = 0


class NumberRange(Model):
    """A range of numbers.

    min: lowest number, included; max: highest number, included.
    """

    min: Number
    max: Number

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise ValueError("expected min to be at most max")
        return self


class Resource(Model):
    """A resource of a product.

    format: type of its values; unit: unit of its values, for people; settable: whether solutions may set it; allowed:
    values and ranges, empty: any.
    """

    format: Format = "string"
    unit: ShortName = ""
    settable: StrictBool = False
    allowed: tuple[NumberRange | Number | FreeText | bool, ...] = ()


def _resource(value: Any) -> Any:
    return {"format": value} if isinstance(value, str) else value


ShortResource = Annotated[Resource, BeforeValidator(_resource, json_schema_input_type=ShortName | Resource)]


class ContentFile(Model):
    """A content item of a product, read from a file.

    file: file with its bytes; id: its id, by default the file's name; type: its Content-Type; description: text that
    devices can read.
    """

    file: Path
    id: ShortName | None = None
    type: FreeText = "application/octet-stream"
    description: FreeText = ""


class ProductKeywords(TypedDict, total=False):
    """The settings of a product as keyword arguments. None: not given."""

    domain: str | None
    auth: Auth | None
    provisioning: bool | None
    self_registration: bool | None
    identity_format: Options | None
    resources: Mapping[str, str | Options] | None
    identities: Iterable[str] | None
    content: Iterable[Options] | None


class ProductSettings(Model):
    """Settings of a product.

    id: name of the product, which is part of its host name.
    """

    id: Label
    domain: Annotated[Host | None, Doc("host name; made from the id without it")] = None
    auth: Annotated[Auth, Doc("how devices authenticate")] = "token"
    provisioning: Annotated[StrictBool, Doc("whether devices may activate themselves")] = True
    self_registration: Annotated[
        StrictBool, Doc("'allow devices to register their own identity': one that is not whitelisted")
    ] = True
    identity_format: Annotated[IdentityFormat, Doc("which identities are valid")] = IdentityFormat()
    resources: Annotated[
        dict[Alias, ShortResource],
        Doc("resources by alias: the format of each, or a mapping"),
    ] = {}
    identities: Annotated[
        tuple[ShortName, ...],
        AfterValidator(expand_ranges),
        Doc("identities that are whitelisted in advance; `w-{0001..2000}` is a range"),
    ] = ()
    content: Annotated[tuple[ContentFile, ...], Doc("files that devices can download")] = ()
