"""Endpoint paths and answer formats of the known identity providers."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from labkit.providers.social.faults import Step
from labkit.settings import SOCIAL, Person

# (person, granted scopes, requested fields) → body of the user-info answer
UserInfo = Callable[[Person, frozenset[str], frozenset[str]], dict[str, object]]

METHODS: dict[Step, tuple[str, ...]] = {
    "authorize": ("GET", "POST"),
    "request_token": ("POST",),
    "token": ("POST",),
    "userinfo": ("GET", "POST"),
    "discovery": ("GET",),
    "certs": ("GET",),
    "revoke": ("POST",),
}
ALL_FIELDS = ("access_token", "token_type", "expires_in", "refresh_token", "scope")


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """Paths and answer formats of one kind of provider.

    authorize, token, userinfo, request_token: paths. openid: whether it issues ID tokens and revokes tokens. asks:
    query of the user-info URL. token_fields: fields of a token reply; without `expires_in` the tokens never expire,
    without `refresh_token` there are no refresh tokens. lifetime: seconds of an access token. scope_mark: separator of
    scopes in a token reply. form: a token reply is a form unless JSON is requested. errors: RFC 6749 5.2 error code →
    the provider's own, then sent with status 200.
    """

    protocol: Literal["oauth1", "oauth2"]
    authorize: str
    token: str
    userinfo: str
    user_info: UserInfo
    title: str = ""
    request_token: str = ""
    openid: bool = False
    asks: str = ""
    token_fields: tuple[str, ...] = ALL_FIELDS
    token_type: str = "Bearer"
    lifetime: int = 3600
    scope_mark: str = " "
    form: bool = False
    errors: Mapping[str, str] = field(default_factory=dict)


def number(person: Person) -> int:
    """Return the id of a person at a provider with numeric ids: the id itself if numeric, else its CRC-32."""
    return int(person.id) if person.id.isascii() and person.id.isdigit() else zlib.crc32(person.id.encode())


def _plain(person: Person, scopes: frozenset[str], fields: frozenset[str]) -> dict[str, object]:
    sub = {"sub": person.id} if "openid" in scopes else {}
    return {**sub, "id": person.id, "name": person.title, "email": person.email}


def _google(person: Person, scopes: frozenset[str], fields: frozenset[str]) -> dict[str, object]:
    info: dict[str, object] = {"sub": person.id}
    if "profile" in scopes:
        given, _, family = person.title.partition(" ")
        info |= {"name": person.title, "given_name": given, "family_name": family}
    if "email" in scopes:
        info |= {"email": person.email, "email_verified": bool(person.email)}
    return info


def _facebook(person: Person, scopes: frozenset[str], fields: frozenset[str]) -> dict[str, object]:
    info: dict[str, object] = {"id": str(number(person)), "name": person.title}
    if person.email and "email" in scopes:
        info["email"] = person.email
    return {name: value for name, value in info.items() if name in (fields or {"id", "name"})}


def _amazon(person: Person, scopes: frozenset[str], fields: frozenset[str]) -> dict[str, object]:
    info: dict[str, object] = {"user_id": f"amzn1.account.{person.id}"}
    return info | {"name": person.title, "email": person.email} if "profile" in scopes else info


def _github(person: Person, scopes: frozenset[str], fields: frozenset[str]) -> dict[str, object]:
    open_to_us = bool({"user", "user:email"} & scopes)
    return {
        "login": person.id,
        "id": number(person),
        "type": "User",
        "name": person.title,
        "email": person.email if person.email and open_to_us else None,
    }


def _twitter(person: Person, scopes: frozenset[str], fields: frozenset[str]) -> dict[str, object]:
    id = number(person)
    return {"id": id, "id_str": str(id), "name": person.title, "screen_name": person.id}


KNOWN: Mapping[str, ProviderKind] = {
    "google": ProviderKind(
        protocol=SOCIAL["google"],
        title="Google",
        authorize="/o/oauth2/v2/auth",
        token="/token",
        userinfo="/oauth2/v3/userinfo",
        openid=True,
        user_info=_google,
        token_fields=("access_token", "expires_in", "scope", "token_type"),
        lifetime=3599,
    ),
    "facebook": ProviderKind(
        protocol=SOCIAL["facebook"],
        title="Facebook",
        authorize="/v19.0/dialog/oauth",
        token="/v19.0/oauth/access_token",
        userinfo="/v19.0/me",
        asks="fields=id,name,email",
        user_info=_facebook,
        token_fields=("access_token", "token_type", "expires_in"),
        token_type="bearer",
        lifetime=5_184_000,
    ),
    "amazon": ProviderKind(
        protocol=SOCIAL["amazon"],
        title="Amazon",
        authorize="/ap/oa",
        token="/auth/o2/token",
        userinfo="/user/profile",
        user_info=_amazon,
        token_fields=("access_token", "refresh_token", "token_type", "expires_in"),
        token_type="bearer",
    ),
    "github": ProviderKind(
        protocol=SOCIAL["github"],
        title="GitHub",
        authorize="/login/oauth/authorize",
        token="/login/oauth/access_token",
        userinfo="/user",
        user_info=_github,
        token_fields=("access_token", "scope", "token_type"),
        token_type="bearer",
        scope_mark=",",
        form=True,
        errors={
            "invalid_client": "incorrect_client_credentials",
            "invalid_grant": "bad_verification_code",
        },
    ),
    "twitter": ProviderKind(
        protocol=SOCIAL["twitter"],
        title="Twitter",
        authorize="/oauth/authorize",
        token="/oauth/access_token",
        userinfo="/1.1/account/verify_credentials.json",
        request_token="/oauth/request_token",
        user_info=_twitter,
    ),
}

OAUTH2 = ProviderKind("oauth2", "/authorize", "/token", "/userinfo", _plain, openid=True)
OAUTH1 = ProviderKind(
    "oauth1", "/authorize", "/access_token", "/userinfo", _plain, request_token="/request_token"
)


def kind_of(name: str, protocol: str | None) -> ProviderKind:
    """Return the kind of a provider: by its name if known, else the generic one of the protocol."""
    return KNOWN.get(name) or (OAUTH1 if protocol == "oauth1" else OAUTH2)
