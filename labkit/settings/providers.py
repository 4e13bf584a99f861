"""Settings of the section `providers`: identity providers, and the provider of push, SMS and chat messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from labkit.core.keywords import Doc
from labkit.settings.messaging import MessagingSettings
from labkit.settings.values import FreeText, Label, Model, Options, Secret, Text, WebUrl


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _check_distinct(names: tuple[str, ...], what: str) -> None:
    """Raise ValueError if a name occurs twice. what: plural noun for the names, for the error."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"expected {what} that differ, not {name!r} twice")


class Person(Model):
    """A person with an account at an identity provider.

    id: id of the account; name: name that the provider shows; email: mail address.
    """

    id: Text
    name: FreeText = ""
    email: FreeText = ""

    @property
    def title(self) -> str:
        """Display name: the person's name, or the id."""
        return self.name or self.id


class ApplicationSettings(Model):
    """An application registered at an identity provider (document 2, Setup for social login, item 1).

    client_id: its id; client_secret: its secret; name: name that the provider shows to people.
    redirect: redirect URIs that it may use, compared exactly; a URL of the lab's own may omit the port.
    scopes: scopes that it may request; empty: any.
    """

    client_id: Text
    client_secret: Secret
    redirect: Annotated[tuple[WebUrl, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    name: FreeText = ""
    scopes: tuple[FreeText, ...] = ()


class Outside(Model):
    """URLs of an external identity provider.

    authorize: page where people sign in; token: endpoint that issues access tokens; userinfo: endpoint that describes
    the person; request_token: endpoint that issues request tokens, only for OAuth 1.
    """

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
    """Settings of an identity provider.

    name: name by which scripts choose it, such as `google`.
    """

    name: Annotated[Label, BeforeValidator(lambda name: name.lower() if isinstance(name, str) else name)]
    protocol: Annotated[
        Literal["oauth1", "oauth2"] | None,
        Field(validate_default=True),
        Doc("its protocol, by default oauth2"),
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
        Doc("URLs of an external provider, used instead of one in the lab"),
    ] = None

    @field_validator("protocol")
    @classmethod
    def _known(cls, protocol: str | None, info: ValidationInfo) -> str:
        name = info.data.get("name", "")
        known = SOCIAL.get(name, protocol or "oauth2")
        if protocol not in (None, known):
            raise ValueError(f"expected {known}, the protocol of {name}")
        return known

    @field_validator("people")
    @classmethod
    def _people(cls, people: tuple[Person, ...]) -> tuple[Person, ...]:
        _check_distinct(tuple(each.id for each in people), "ids")
        return people

    @field_validator("applications")
    @classmethod
    def _applications(cls, given: tuple[ApplicationSettings, ...]) -> tuple[ApplicationSettings, ...]:
        _check_distinct(tuple(each.client_id for each in given), "client ids")
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
    """Settings of the providers outside of the platform.

    social: identity providers, in addition to the built-in ones; messaging: the provider of push, SMS and chat.
    """

    social: tuple[SocialSettings, ...] = ()
    messaging: MessagingSettings = MessagingSettings()
