"""Settings of a lab: lab.yaml, or arguments in a cell, as typed values.

A wrong setting is a SettingsError that names the key (`products[0].auth`), what was expected and, for a file,
the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StrictBool,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import read_yaml

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
HOST = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*")
ALIAS = re.compile(r"[A-Za-z0-9_.$-]{1,64}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 5.6.2
WEB_URL = re.compile(r"https?://[^\s/?#\\@]+([/?][^\s#\\]*)?")  # no fragment (RFC 6749 3.1.2)
TEXT = re.compile(r"[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,98}[^\s\x00-\x1f\x7f])?")


def _matches(pattern: re.Pattern[str], expected: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"expected {expected}, not {text!r}")
        return text

    return AfterValidator(check)


Label = Annotated[str, _matches(LABEL, "lower-case letters, digits and inner hyphens, at most 63")]
Host = Annotated[str, _matches(HOST, "a host name in lower case")]
Alias = Annotated[str, _matches(ALIAS, "1 to 64 letters, digits, '_', '-', '.' or '$'")]
HeaderName = Annotated[str, _matches(HEADER, "the name of a header")]
WebUrl = Annotated[str, _matches(WEB_URL, "an http or https URL without a fragment")]
Text = Annotated[str, _matches(TEXT, "1 to 100 characters on one line, without spaces around")]
Port = Annotated[int, Field(strict=True, ge=0, le=65535)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Seconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Auth = Literal["token", "password", "certificate"]


class Model(BaseModel):
    """Base of all settings: unknown keys are errors, values are fixed once made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
    """A product. `self_registration`: 'allow devices to register their own identity'."""

    id: Label
    domain: Host | None = None
    auth: Auth = "token"
    provisioning: StrictBool = True
    self_registration: StrictBool = True
    identity_format: IdentityFormat = IdentityFormat()
    resources: dict[Alias, Annotated[Resource, BeforeValidator(_resource)]] = {}
    identities: tuple[str, ...] = ()
    content: tuple[ContentFile, ...] = ()


class SolutionSettings(Model):
    """A solution: its folder, the products whose data it handles, the configuration of its services."""

    id: Label
    domain: Host | None = None
    path: Path | None = None
    products: tuple[Label, ...] = ()
    services: dict[str, dict[str, Any]] = {}
    environment: dict[str, str] = {}


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _apart(names: tuple[str, ...], what: str) -> None:
    """Raises ValueError where a name comes twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"expected {what} that differ, not {name!r} twice")


class Person(Model):
    """Somebody whom an identity provider knows."""

    id: Text
    name: str = ""
    email: str = ""

    @property
    def title(self) -> str:
        """What to call them."""
        return self.name or self.id


class ApplicationSettings(Model):
    """An application registered at an identity provider (document 2, Setup for social login, item 1).

    redirect: where it may have people sent back to, exactly; a URL of the lab's own may leave out the port.
    scopes: what it may ask for; empty: anything.
    """

    client_id: Text
    client_secret: SecretStr
    redirect: Annotated[tuple[WebUrl, ...], BeforeValidator(_several), Field(min_length=1)]
    name: str = ""
    scopes: tuple[str, ...] = ()


class Outside(Model):
    """The URLs of a provider that is not the lab's own. request_token: of an OAuth 1 provider alone."""

    authorize: WebUrl
    token: WebUrl
    userinfo: WebUrl
    request_token: WebUrl | None = None


SOCIAL: dict[str, Literal["oauth1", "oauth2"]] = {
    "google": "oauth2",
    "facebook": "oauth2",
    "amazon": "oauth2",
    "github": "oauth2",
    "twitter": "oauth1",
}


class SocialSettings(Model):
    """An identity provider. consent: `form` asks the person, `automatic` lets the first of `people` in unasked."""

    name: Annotated[Label, BeforeValidator(lambda name: name.lower() if isinstance(name, str) else name)]
    protocol: Annotated[Literal["oauth1", "oauth2"] | None, Field(validate_default=True)] = None
    people: tuple[Person, ...] = ()
    applications: tuple[ApplicationSettings, ...] = ()
    consent: Literal["form", "automatic"] = "form"
    outside: Outside | None = None

    @field_validator("protocol")
    @classmethod
    def _known(cls, protocol: str | None, info: ValidationInfo) -> str:
        name = info.data.get("name", "")
        known = SOCIAL.get(name, protocol or "oauth2")
        if protocol not in (None, known):
            raise ValueError(f"expected {known}, which is what {name} speaks")
        return known

    @field_validator("people")
    @classmethod
    def _people(cls, people: tuple[Person, ...]) -> tuple[Person, ...]:
        _apart(tuple(each.id for each in people), "ids")
        return people

    @field_validator("applications")
    @classmethod
    def _applications(cls, given: tuple[ApplicationSettings, ...]) -> tuple[ApplicationSettings, ...]:
        _apart(tuple(each.client_id for each in given), "client ids")
        return given

    @field_validator("consent")
    @classmethod
    def _consent(cls, consent: str, info: ValidationInfo) -> str:
        if consent == "automatic" and not info.data.get("people"):
            raise ValueError("automatic consent needs somebody in people")
        return consent

    @field_validator("outside")
    @classmethod
    def _outside(cls, outside: Outside | None, info: ValidationInfo) -> Outside | None:
        if outside is not None and (info.data.get("protocol") == "oauth1") != bool(outside.request_token):
            raise ValueError("expected request_token for oauth1, and for nothing else")
        return outside


class ProvidersSettings(Model):
    """The outside world. social: identity providers; entries for those that are always there add to them."""

    social: tuple[SocialSettings, ...] = ()


class Wire(Model):
    """How the device API appears on the wire where the documents, the standards and the field differ."""

    token_headers: tuple[HeaderName, ...] = ("X-Platform-CIK",)
    authorization_token: StrictBool = True
    last_modified: Literal["timestamp", "http-date"] = "timestamp"
    range_status: Literal[200, 206] = 200
    download_framing: Literal["both", "length", "chunked"] = "both"
    empty_length: StrictBool = True  # Content-Length: 0 on a 204
    strict_range: StrictBool = True  # `bytes=-` is 400, not ignored


FIELD = Wire(
    last_modified="http-date",
    range_status=206,
    download_framing="length",
    empty_length=False,
    strict_range=False,
)
PROFILES: dict[str, Wire] = {"spec": Wire(), "field": FIELD}


class Guard(Model):
    """Real-time limits, in seconds, that protect the process; never lab time."""

    header: Seconds = 10.0
    body: Seconds = 30.0
    keep_alive: Seconds = 75.0
    handshake: Seconds = 10.0
    shutdown: Seconds = 10.0
    script_cpu: Seconds = 0.2
    way_out: Seconds = 10.0  # for an answer to a request of the platform itself


class LabSettings(Model):
    """A whole lab: what lab.yaml says."""

    domain: Host = "lab.localhost"
    host: str = "127.0.0.1"
    https_port: Port = 8443
    http_port: Port | None = None
    data: str | Path | None = None
    keystore: str | None = None
    profile: Literal["spec", "field"] = "spec"
    wire: dict[str, Any] = {}
    guard: Guard = Guard()
    products: tuple[ProductSettings, ...] = ()
    solutions: tuple[SolutionSettings, ...] = ()
    providers: ProvidersSettings = ProvidersSettings()

    def wires(self) -> Wire:
        """The profile with the switches of `wire` set."""
        return _wire(self, {})


def _wire(settings: LabSettings, lines: dict[str, int]) -> Wire:
    values = {**PROFILES[settings.profile].model_dump(), **settings.wire}
    return build(Wire, values, "wire", lines)


S = TypeVar("S", bound=BaseModel)

SHOULD_BE = "Input should be "  # how pydantic begins to say which type or value it wants
MAPPING = re.compile(r"a valid dictionary( or instance of \w+)?")


def build(model: type[S], values: object, where: str = "", lines: dict[str, int] | None = None) -> S:
    """Make settings of `values`. Raises SettingsError naming the first wrong key, below `where`."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong: dict[str, list[ErrorDetails]] = {}
        for each in error.errors(include_url=False, include_context=False):
            wrong.setdefault(_key(where, each, values), []).append(each)
        key, errors = next(iter(wrong.items()))
        raise SettingsError(f"{key}: {_explain(errors)}{_line(lines or {}, key)}") from None


def load(path: str | Path) -> LabSettings:
    """Read a lab.yaml. File names in it are relative to it. Raises SettingsError."""
    file = Path(path)
    values, lines = read_yaml(file)
    settings = build(LabSettings, values, "", lines)
    _wire(settings, lines)
    return _anchored(settings, file.parent, lines)


def unique(settings: LabSettings, lines: dict[str, int] | None = None) -> None:
    """Raises SettingsError where two products, solutions or providers share a name, or an unknown product is linked."""
    products = [product.id for product in settings.products]
    solutions = [solution.id for solution in settings.solutions]
    social = [provider.name for provider in settings.providers.social]
    named = (
        ("products", "id", products),
        ("solutions", "id", solutions),
        ("providers.social", "name", social),
    )
    for section, field, ids in named:
        for index, each in enumerate(ids):
            if each in ids[:index]:
                key = f"{section}[{index}].{field}"
                raise SettingsError(f"{key}: {each!r} is there already{_line(lines or {}, key)}")
    for index, solution in enumerate(settings.solutions):
        for number, product in enumerate(solution.products):
            if product not in products:
                key = f"solutions[{index}].products[{number}]"
                raise SettingsError(f"{key}: no product {product!r}{_line(lines or {}, key)}")


def _anchored(settings: LabSettings, folder: Path, lines: dict[str, int]) -> LabSettings:
    """`settings` with file names made relative to the settings file, and seen to be there."""

    def anchor(name: Path, key: str) -> Path:
        path = folder / name
        if not path.exists():
            raise SettingsError(f"{key}: no such file or folder: {name}{_line(lines, key)}")
        return path

    products = tuple(
        product.model_copy(
            update={
                "content": tuple(
                    item.model_copy(update={"file": anchor(item.file, f"products[{n}].content[{m}].file")})
                    for m, item in enumerate(product.content)
                )
            }
        )
        for n, product in enumerate(settings.products)
    )
    solutions = tuple(
        solution.model_copy(update={"path": anchor(solution.path, f"solutions[{n}].path")})
        if solution.path is not None
        else solution
        for n, solution in enumerate(settings.solutions)
    )
    data = settings.data
    if isinstance(data, str | Path) and "://" not in str(data):
        data = folder / data
    result = settings.model_copy(update={"products": products, "solutions": solutions, "data": data})
    unique(result, lines)
    return result


def _key(where: str, error: ErrorDetails, values: object) -> str:
    """The key that an error is about: its location, without the names that pydantic gives to union members."""
    key, at, location = where, values, error["loc"]
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(at, Mapping) and (part in at or (last and error["type"] == "missing")):
            key += f".{part}" if key else str(part)
            at = at.get(part)
        elif isinstance(at, list | tuple) and isinstance(part, int) and part < len(at):
            key += f"[{part}]"
            at = at[part]
    return key or "settings"


def _explain(errors: list[ErrorDetails]) -> str:
    """What was expected; of several types that a value may have, each says its own."""
    first = errors[0]
    if first["type"] == "extra_forbidden":
        return "unknown key"
    if first["type"] == "missing":
        return "is required"
    expected = [
        MAPPING.sub("a mapping", each["msg"].removeprefix(SHOULD_BE))
        for each in errors
        if each["msg"].startswith(SHOULD_BE)
    ]
    if first["msg"].startswith(SHOULD_BE):
        return "expected " + " or ".join(dict.fromkeys(expected))
    return first["msg"].removeprefix("Value error, ")


def _line(lines: dict[str, int], key: str) -> str:
    while key and key not in lines:  # a missing key has no line of its own: name its parent's
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return f" (line {lines[key]})" if key in lines else ""
