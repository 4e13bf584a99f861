"""Settings of a lab: lab.yaml, or arguments in a cell, as typed values.

A wrong setting is a SettingsError that names the key (`products[0].auth`), what was expected and, for a file,
the line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from labkit.core.errors import SettingsError

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
HOST = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*")
ALIAS = re.compile(r"[A-Za-z0-9_.$-]{1,64}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 5.6.2


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


def read_yaml(file: Path) -> tuple[Any, dict[str, int]]:
    """What a YAML file holds ({} if nothing), and the line of each key, for `build`. Raises SettingsError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml takes a tenth of the time
        values = yaml.load(text, Loader=loader)
        lines = _lines(yaml.compose(text, Loader=loader), "", ())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise SettingsError(f"{file}: is not YAML: {getattr(error, 'problem', error)}{where}") from None
    return ({} if values is None else values), lines


def unique(settings: LabSettings, lines: dict[str, int] | None = None) -> None:
    """Raises SettingsError where two products or solutions share an id, or an unknown product is linked."""
    products = [product.id for product in settings.products]
    solutions = [solution.id for solution in settings.solutions]
    for name, ids in (("products", products), ("solutions", solutions)):
        for index, each in enumerate(ids):
            if each in ids[:index]:
                key = f"{name}[{index}].id"
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


def _lines(node: yaml.Node | None, key: str, above: tuple[yaml.Node, ...]) -> dict[str, int]:
    """Where each key of a YAML document stands: `products[0].auth` → 1-based line.

    Raises SettingsError for a key that is given twice, of which YAML would take the second.
    """
    found: dict[str, int] = {}
    if node in above:  # an anchor that holds itself
        return found
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for name, value in node.value:
            inner = f"{key}.{name.value}" if key else str(name.value)
            found[inner] = name.start_mark.line + 1
            if name.value in names:
                raise SettingsError(f"{inner}: is given twice (line {found[inner]})")
            names.add(name.value)
            found.update(_lines(value, inner, (*above, node)))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            found[f"{key}[{index}]"] = value.start_mark.line + 1
            found.update(_lines(value, f"{key}[{index}]", (*above, node)))
    return found
