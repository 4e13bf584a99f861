"""Settings of a solution's own web server: `services/webservice.yaml`, or `services.webservice` in lab.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from labkit.core.errors import SettingsError
from labkit.settings import build
from labkit.solutions.cors import Names
from labkit.solutions.scripts import LARGEST_RATE, SECURITY

SERVICE = "webservice"
OPEN = "none"  # the kind of security that asks for no credentials
API_KEY_HEADER = "X-API-Key"


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


class ApiKeyPlace(BaseModel):
    """Place of an API key in a request: the header or the parameter of the query that has it."""

    model_config = ConfigDict(frozen=True)

    name: str = API_KEY_HEADER
    in_query: bool = False


class Scheme(BaseModel):
    """Definition of a kind of security, in the form of OpenAPI 2 or 3; further keys are kept for the documentation."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: str
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
    rate_limit: requests a minute for each route and client, 0 for no limit.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    documented_endpoints: Names = ()
    api_info: ApiInfo = ApiInfo()
    security_schemes: Annotated[dict[str, Scheme], BeforeValidator(_by_name)] = {}
    security: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    rate_limit: Annotated[int, Field(ge=0, le=LARGEST_RATE)] = 0

    @model_validator(mode="after")
    def _check_names(self) -> WebSettings:
        known = {*SECURITY, *self.security_schemes}
        for name in self.security:
            if name not in known:
                raise ValueError(f"security: expected one of {', '.join(sorted(known))}, not {name!r}")
        return self

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

    Raises SettingsError naming the key.
    """
    given: dict[str, Any] = {}
    for service, parameters in configuration.items():
        if service.lower() == SERVICE:
            given.update((key, value) for key, value in parameters.items() if value is not None)
    try:
        return build(WebSettings, given)
    except SettingsError as error:
        raise SettingsError(f"services.{SERVICE}: {error}") from None
