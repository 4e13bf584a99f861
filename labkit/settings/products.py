"""Settings of products: identities and authentication of devices, resources and content."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import AfterValidator, BeforeValidator, Field, IPvAnyNetwork, StrictBool, model_validator

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
IdentityType = Literal["opaque", "base10", "base16", "uuid", "uuidv4", "mac", "mac:48", "mac-48", "mac.48"]
WHOLE = re.compile(r"-?[0-9]{1,15}")
PLAIN = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
TRUE_OR_FALSE = frozenset({"true", "false", "1", "0"})


class IdentityFormat(Model):
    """Format of the identities that a product accepts (document 1, Resources; platform types).

    type: characters that are allowed; prefix: beginning of every identity; casing: letter case that is allowed; length:
    number of characters after the prefix, 0 for any.
    """

    type: IdentityType = "opaque"
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
    initial: Annotated[
        StrictBool | Number | FreeText | None,
        Doc("value that is set for each device from the start, if it is settable", since="1.4"),
    ] = None

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.settable and self.initial is not None and (wrong := value_error(self, as_text(self.initial))):
            raise ValueError(f"initial: {wrong}")
        return self


def as_text(value: object) -> str:
    """Return a value as devices read it: `true`, `21`, `21.5`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_error(resource: Resource, value: str) -> str | None:
    """Return why `value` is invalid for a resource; None for a valid one."""
    kind = resource.format
    if kind == "boolean":
        if value not in TRUE_OR_FALSE:
            return "expected a boolean: true, false, 1 or 0"
    elif kind != "string" and not (WHOLE if kind == "integer" else PLAIN).fullmatch(value):  # as few numbers
        try:
            finite = math.isfinite(float(value)) and (kind != "integer" or int(value) is not None)
        except ValueError:
            finite = None
        # Python accepts these forms, but they are no plain numbers.
        if finite is None or not value.isascii() or "_" in value or value != value.strip():
            return "expected a whole number" if kind == "integer" else "expected a number"
        if not finite:
            return "expected a finite number"
    if resource.allowed and not any(allows(rule, value) for rule in resource.allowed):
        return "this value is not among the allowed ones"
    return None


def allows(rule: NumberRange | float | str | bool, value: str) -> bool:
    """Return whether a value matches an allowed value or range."""
    if isinstance(rule, bool):
        return value in (("true", "1") if rule else ("false", "0"))
    if isinstance(rule, str):
        return value == rule
    try:
        number = float(value)
    except ValueError:
        return False
    return rule.min <= number <= rule.max if isinstance(rule, NumberRange) else number == rule


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
    provisioning_from: Iterable[str] | None
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
    provisioning_from: Annotated[
        tuple[IPvAnyNetwork, ...] | None,
        Doc(
            "IP addresses and networks from which they may, `192.168.0.0/16`; from any without it",
            since="1.4",
        ),
    ] = None
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
