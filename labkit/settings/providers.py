"""The outside world: identity providers, and the provider of push, SMS and chat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict

from pydantic import BeforeValidator, Field, SecretStr, ValidationInfo, field_validator

from labkit.core.keywords import Doc
from labkit.settings.messaging import MessagingSettings
from labkit.settings.values import Label, Model, Options, Text, WebUrl


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


class SocialKeywords(TypedDict, total=False):
    """The settings of an identity provider as keyword arguments. None: not given."""

    protocol: Literal["oauth1", "oauth2"] | None
    people: Iterable[Options] | None
    applications: Iterable[Options] | None
    consent: Literal["form", "automatic"] | None
    outside: Options | None


class SocialSettings(Model):
    """An identity provider."""

    name: Annotated[Label, BeforeValidator(lambda name: name.lower() if isinstance(name, str) else name)]
    protocol: Annotated[
        Literal["oauth1", "oauth2"] | None,
        Field(validate_default=True),
        Doc("protocol that it speaks; oauth2 without it"),
    ] = None
    people: Annotated[tuple[Person, ...], Doc("people who can sign in")] = ()
    applications: Annotated[
        tuple[ApplicationSettings, ...],
        Doc("registered applications"),
    ] = ()
    consent: Annotated[
        Literal["form", "automatic"],
        Doc("`form` asks the person, `automatic` signs in the first of `people` without asking"),
    ] = "form"
    outside: Annotated[
        Outside | None,
        Doc("URLs of a provider that is not the lab's own"),
    ] = None

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
    """The outside world. social: identity providers; messaging: push, SMS and chat. What is named adds to those
    identity providers and to the account that are always there.
    """

    social: tuple[SocialSettings, ...] = ()
    messaging: MessagingSettings = MessagingSettings()
