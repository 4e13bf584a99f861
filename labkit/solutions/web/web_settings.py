"""Settings of a solution's own web server: `services/webservice.yaml`, or `services.webservice` in lab.yaml."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from labkit.core.errors import SettingsError, did_you_mean
from labkit.services.operation import WITHOUT_EFFECT, WithoutEffect
from labkit.settings import build
from labkit.settings.validation import line_of
from labkit.solutions.folders.configuration import ConfigurationFile
from labkit.solutions.folders.cors import Cors, Names
from labkit.solutions.folders.folder_finding import FolderFinding, warning
from labkit.solutions.folders.scripts import LARGEST_RATE, SECURITY
from labkit.solutions.web.response import ReplyError, response_headers

SERVICE = "webservice"
OPEN = "none"  # the kind of security that asks for no credentials
API_KEY_HEADER = "X-API-Key"
MOST_WEBSOCKETS = 20_000
PLACES = ("header", "query")  # of an API key
INFO_KEYS = ("title", "version", "description", "termsOfService", "contact", "license", "summary")
SCHEME_KEYS = (
    "type", "name", "in", "scheme", "description", "bearerFormat", "flow", "flows", "scopes", "authorizationUrl",
    "tokenUrl", "openIdConnectUrl",
)  # fmt: skip
UNKNOWN = "{}: unknown key, ignored; there are: {}"


def _names(value: object) -> object:
    """Return kinds of security as a list: of a text with spaces, of texts, or of mappings as OpenAPI has them."""
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list):
        return [name for each in value for name in (each if isinstance(each, Mapping) else [each])]
    return value


def _by_name(value: object) -> object:
    """Return definitions of security by name: the type of each in a list, which has no other."""
    if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
        if without := [number for number, each in enumerate(value, 1) if "type" not in each]:
            raise ValueError(f"expected a type in each definition, number {without[0]} has none")
        return {str(each["type"]): each for each in value}
    return value


def _headers(value: object) -> object:
    """Return headers of responses as pairs of name and value. Raises ValueError."""
    try:
        return tuple(response_headers(value))
    except ReplyError as error:
        raise ValueError(str(error).removeprefix("response.headers: ")) from None


class ApiKeyPlace(BaseModel):
    """Place of an API key in a request: the header or the parameter of the query that has it."""

    model_config = ConfigDict(frozen=True)

    name: str = API_KEY_HEADER
    in_query: bool = False


class Scheme(BaseModel):
    """Definition of a kind of security, in the form of OpenAPI 2 or 3; further keys are kept for the documentation."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: Literal["basic", "bearer", "apiKey", "http", "oauth2", "openIdConnect"]
    name: str = ""
    place: Annotated[str, Field(alias="in")] = ""
    scheme: str = ""

    @property
    def kind(self) -> str:
        """Kind of the credentials: basic, bearer or apiKey."""
        if self.type == "basic" or self.scheme.lower() == "basic":
            return "basic"
        of_key = self.type == "apiKey" and self.name.lower() != "authorization"
        return "apiKey" if of_key else "bearer"


class ApiInfo(BaseModel):
    """Title, version and description for the documentation; further keys of OpenAPI's `info` are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    title: str = ""
    version: Annotated[str, BeforeValidator(str)] = "1.0.0"
    description: str = ""


class WebSettings(BaseModel):
    """Settings for all routes of a solution. The tags of a route override them.

    documented_endpoints: tags of the routes that the documentation shows, all if empty; security: kinds of credentials,
    one of which a request needs; security_schemes: their definitions by name, or a list of them, each of another type;
    rate_limit: requests a minute for each route and client, 0 for no limit; websockets: number that may be open at a
    time; headers: of each response that has no such header of its own; cors: which web pages may call the routes, in
    place of the settings of the project file.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    documented_endpoints: Names = ()
    api_info: ApiInfo = ApiInfo()
    security_schemes: Annotated[dict[str, Scheme], BeforeValidator(_by_name)] = {}
    security: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    rate_limit: Annotated[int, Field(ge=0, le=LARGEST_RATE)] = 0
    websockets: Annotated[int, Field(ge=0, le=LARGEST_RATE)] = MOST_WEBSOCKETS
    headers: Annotated[tuple[tuple[str, str], ...], BeforeValidator(_headers)] = ()
    cors: Cors | None = None
    domain: WithoutEffect = None

    @field_validator("security")
    @classmethod
    def _check_names(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "security_schemes" not in info.data:  # wrong themselves
            return names
        known = sorted({*SECURITY, *info.data["security_schemes"]})
        for name in names:
            if name not in known:
                raise ValueError(
                    f"expected one of {', '.join(known)}, not {name!r}{did_you_mean(name, known)}"
                )
        return names

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of credentials that `security` names: itself, or by a definition."""
        schemes = self.security_schemes
        return tuple(schemes[name].kind if name in schemes else name for name in self.security)

    @property
    def api_key(self) -> ApiKeyPlace:
        """Place of an API key: that of the first definition of one, else the header X-API-Key."""
        for each in self.security_schemes.values():
            if each.kind == "apiKey" and each.name:
                return ApiKeyPlace(name=each.name, in_query=each.place == "query")
        return ApiKeyPlace()


def read(configuration: Mapping[str, Mapping[str, Any]]) -> WebSettings:
    """Return the settings in a solution's configuration, which is by service in any letter case.

    Raises SettingsError naming each wrong key, and each unknown one that resembles a key: routes must not stay open
    since `security` is misspelt.
    """
    given: dict[str, Any] = {}
    for service, parameters in configuration.items():
        if service.lower() == SERVICE:
            given.update((str(key), value) for key, value in parameters.items() if value is not None)
    unknown = [
        f"services.{SERVICE}: {key}: unknown key{similar}"
        for key in given
        if (similar := did_you_mean(key, WebSettings.model_fields))  # empty for a known key
    ]
    try:
        found = build(WebSettings, given)
    except SettingsError as error:
        wrong = [*unknown, *(f"services.{SERVICE}: {each}" for each in error.parts)]
        raise SettingsError("; ".join(wrong), wrong) from None
    if unknown:
        raise SettingsError("; ".join(unknown), unknown)
    return found


def of_keys(
    files: Iterable[ConfigurationFile], settings: Mapping[str, Mapping[str, Any]], tags: Collection[str]
) -> Iterator[FolderFinding]:
    """Yield a warning for each unknown key, and each value without an effect, in files and settings of services.

    A first key that resembles a known one is an error of `read`. tags: of the solution's routes.
    """
    given = [(each.service, each.file, each.parameters, each.lines) for each in files]
    given += [(name, f"services.{name}", dict(each), {}) for name, each in settings.items()]
    known = WebSettings.model_fields
    for service, where, parameters, lines in given:
        for key in map(str, parameters):
            if service.lower() == SERVICE and key not in known and not did_you_mean(key, known):
                yield warning(where, UNKNOWN.format(key, ", ".join(known)), lines.get(key, 0))
        if service.lower() == SERVICE:
            for key, text in _of_values(parameters, tags):
                yield warning(where, f"{key}: {text}", line_of(lines, key))
            if "domain" in parameters:
                yield FolderFinding(where, lines.get("domain", 0), "note", f"domain: {WITHOUT_EFFECT}")


def _of_values(given: Mapping[str, Any], tags: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield key and sentence of each value that nothing uses. The types of all have been checked, or are errors."""
    tables: list[tuple[str, object, tuple[str, ...]]] = [("api_info", given.get("api_info"), INFO_KEYS)]
    schemes = given.get("security_schemes")
    pairs = (
        schemes.items()
        if isinstance(schemes, Mapping)
        else enumerate(schemes if isinstance(schemes, list) else ())
    )
    for name, scheme in pairs:
        key = f"security_schemes[{name}]" if isinstance(name, int) else f"security_schemes.{name}"
        tables.append((key, scheme, SCHEME_KEYS))
        if isinstance(scheme, Mapping) and (place := scheme.get("in", PLACES[0])) not in PLACES:
            yield (
                f"{key}.in",
                f"expected one of {', '.join(PLACES)}, not {place!r}{did_you_mean(place, PLACES)}",
            )
    for where, table, known in tables:
        for name in table if isinstance(table, Mapping) else ():
            if similar := did_you_mean(name, known):
                yield f"{where}.{name}", f"unknown key{similar}"
    if given.get("cors"):
        for key, text in build(Cors, given["cors"]).doubts():
            yield f"cors.{key}", text
    shown = given.get("documented_endpoints")
    for tag in [shown] if isinstance(shown, str) else shown if isinstance(shown, list) else ():
        if tag not in tags:
            yield "documented_endpoints", f"no route has the tag {tag!r}{did_you_mean(tag, tags)}"
