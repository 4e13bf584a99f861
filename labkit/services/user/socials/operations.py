"""The group Socials of the User service (document 2, Socials): users log in with an identity provider."""

from __future__ import annotations

from hmac import compare_digest
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from sqlalchemy import Connection

from labkit.core.errors import ServiceError
from labkit.services.arguments import as_list, is_unicode
from labkit.services.operation import Caller, operation
from labkit.services.redaction import InJournal, lengths, urls, words_or_lengths
from labkit.services.user.group import Group
from labkit.services.user.socials import oauth1, oauth2, records
from labkit.services.user.socials.oauth1 import Stamp
from labkit.services.user.socials.records import Kind, Login, Oauth1Token, Social
from labkit.services.user.socials.web import REASONS, Consumer, ProviderClient, is_token


def _absolute(url: str) -> str:
    parts = urlsplit(url)
    if not url.isprintable() or " " in url:  # urlsplit removes line ends
        raise ValueError("expected a URL without spaces and control characters")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
        raise ValueError("expected an absolute http or https URL without a fragment")
    return url


def _utf8(secret: SecretStr) -> SecretStr:
    if not is_unicode(secret.get_secret_value()):
        raise ValueError("expected UTF-8")
    return secret


Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._-]+$")]  # part of URL paths
Scope = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=500)], ...],
    BeforeValidator(as_list),
    Field(max_length=50),
]
Redirect = Annotated[str, Field(max_length=2000), AfterValidator(_absolute), InJournal(urls)]
ClientId = Annotated[str, Field(min_length=1, max_length=500)]
Hidden = Annotated[SecretStr, AfterValidator(_utf8)]
Secret = Annotated[Hidden, Field(min_length=1, max_length=4096)]


class Socials(Group):
    """Operations on social logins: their configuration, and the flow of OAuth 1 and OAuth 2 as a client."""

    @operation
    async def createSocial(
        self,
        caller: Caller,
        consumer: Name,
        redirect: Redirect,
        client_id: ClientId,
        client_secret: Secret,
        scope: Scope = (),
    ) -> dict[str, object]:
        """Configure social login with an identity provider.

        Returns `{scope, consumer, redirect, client_id, client_secret}`. consumer: name of the provider; redirect:
        the callback that is registered with it. 400 if the lab has no such provider, 409 if the consumer is
        configured already, in any letter case.
        """
        social = Social(scope, consumer, redirect, client_id, client_secret.get_secret_value())
        self._provider(social)
        await self._run(caller, records.add, social)
        return social.shown()

    @operation
    async def updateSocial(
        self,
        caller: Caller,
        consumer: Name,
        scope: Scope | None = None,
        redirect: Annotated[Redirect | None, InJournal(urls)] = None,
        client_id: ClientId | None = None,
        client_secret: Secret | None = None,
    ) -> None:
        """Change the given fields of a social login's configuration. Returns nil; 404 if there is none."""
        given: dict[str, Any] = {
            "scope": scope,
            "redirect": redirect,
            "client_id": client_id,
            "client_secret": client_secret.get_secret_value() if client_secret else None,
        }
        values = {name: value for name, value in given.items() if value is not None}
        await self._run(caller, records.change, consumer, values)

    @operation
    async def deleteSocial(self, caller: Caller, consumer: Name) -> None:
        """Delete the configuration of a social login; its pending logins fail. Returns nil; 404 if there is none."""
        await self._run(caller, records.remove, consumer)

    @operation
    async def getSocial(self, caller: Caller, consumer: Name) -> dict[str, object]:
        """Return the configuration of a consumer, in any letter case. 404 if there is none."""
        return (await self._read(caller, records.require, consumer)).shown()

    @operation
    async def socialList(self, caller: Caller) -> list[dict[str, object]]:
        """List the social logins configured in the solution, by name."""
        return [social.shown() for social in await self._read(caller, records.all_socials)]

    @operation
    async def getSocialLoginUrl(self, caller: Caller, consumer: Name, reqToken: Hidden | None = None) -> str:
        """Return the provider's login URL; for OAuth 1 the first call returns a request token instead.

        OAuth 1 without reqToken: returns a request token, letters and digits, valid for 600 s and one login; with
        reqToken: returns the URL. OAuth 2: returns the URL, which contains a state, valid for 600 s and one login.
        """
        provider = await self._client_of(caller, consumer)
        if provider.at.protocol == "oauth2":
            state = self._random_text(caller, 40)
            await self._store(self._login(caller, provider, "state", state), Oauth1Token("", ""))
            return oauth2.login_url(provider, state)
        if reqToken is not None:
            login = self._login(caller, provider, "request_token", reqToken.get_secret_value())
            return oauth1.login_url(provider, await self._find(login, "reqToken"))
        token = await oauth1.request_token(provider, self._stamp(caller))
        # Scripts parse it from a cookie as letters and digits, so any other token gets a substitute of that form.
        plain = token.token.isascii() and token.token.isalnum()
        value = token.token if plain else self._random_text(caller, 40)
        await self._store(self._login(caller, provider, "request_token", value), token)
        return value

    @operation
    async def getSocialToken(
        self,
        caller: Caller,
        consumer: Name,
        code: Hidden | None = None,
        state: Hidden | None = None,
        oauth_token: Hidden | None = None,
        oauth_verifier: Hidden | None = None,
        reqToken: Hidden | None = None,
        error: Annotated[str | None, words_or_lengths(*REASONS)] = None,
        error_description: Annotated[str | None, InJournal(lengths)] = None,
        denied: Hidden | None = None,
    ) -> str:
        """Finish a social login: exchange the parameters of the provider's callback for a token.

        OAuth 2: code, and state if the callback has it. OAuth 1: oauth_token, oauth_verifier, and reqToken as
        getSocialLoginUrl returned it. error, error_description, denied: sent by the provider if it or the user
        refuses. 400 if the login is refused, or a state or request token is used up or of another consumer.
        """
        provider = await self._client_of(caller, consumer)
        if error is not None or denied is not None:
            raise provider.refused(error or "access_denied", error_description or "")
        if provider.at.protocol == "oauth2":
            given = _required("code", code)
            if state is not None:
                await self._consume(self._login(caller, provider, "state", state.get_secret_value()), "state")
            return await oauth2.access_token(provider, given)
        verifier = _required("oauth_verifier", oauth_verifier)
        login = self._login(caller, provider, "request_token", _required("reqToken", reqToken))
        login_request = await self._consume(login, "reqToken", _required("oauth_token", oauth_token))
        token = await oauth1.access_token(provider, login_request, verifier, self._stamp(caller))
        await self._store(self._login(caller, provider, "access_token", token.token), token)
        return token.token

    @operation
    async def socialRequest(self, caller: Caller, consumer: Name, token: SecretStr) -> str:
        """Return the user information that the provider has for a social token: JSON text, as the provider wrote it.

        token: as getSocialToken returned it. 400 for a malformed token; 401 for one unknown to an OAuth 1 consumer,
        or refused.
        """
        provider = await self._client_of(caller, consumer)
        text = token.get_secret_value()
        if not is_token(text):
            raise ServiceError(400, "Parameter token is malformed: expected what getSocialToken gave.")
        if provider.at.protocol == "oauth2":
            return await oauth2.user(provider, text)
        login = self._login(caller, provider, "access_token", text)
        return await oauth1.user(provider, await self._find(login, "token", 401), self._stamp(caller))

    async def _client_of(self, caller: Caller, consumer: str) -> ProviderClient:
        """Return the client for a configured consumer's provider. Raises ServiceError 404 if it is not configured."""
        social = await self._read(caller, records.require, consumer)
        return self._provider(social)

    def _provider(self, social: Social) -> ProviderClient:
        found = self._context.providers.find(social.consumer.lower())
        if found is None:
            raise ServiceError(400, f"The lab has no identity provider for the consumer {social.consumer}.")
        at = Consumer(found.protocol, **found.endpoints())
        return ProviderClient(social, at, self._context.outbound)

    def _login(self, caller: Caller, provider: ProviderClient, kind: Kind, value: str) -> Login:
        return Login(caller.solution, provider.social.consumer, kind, value)

    async def _store(self, login: Login, token: Oauth1Token) -> None:
        await self._context.database.run(records.store, login, token, self._context.clock.now())

    async def _find(self, login: Login, parameter: str, status: int = 400) -> Oauth1Token:
        found = await self._context.database.read(records.find, login, self._context.clock.now())
        if found is None:
            raise _unknown_token(parameter, status)
        return found

    async def _consume(self, login: Login, parameter: str, expected: str = "") -> Oauth1Token:
        """Remove and return the token of a pending login. expected: the OAuth 1 request token that it must match."""

        def consume(connection: Connection) -> Oauth1Token:
            token = records.consume(connection, login, self._context.clock.now())
            if token is None:
                raise _unknown_token(parameter)
            if not compare_digest(token.token.encode(), expected.encode()):
                raise ServiceError(400, "Parameter oauth_token is not the one that reqToken belongs to.")
            return token

        return await self._context.database.run(consume)

    def _stamp(self, caller: Caller) -> Stamp:
        return Stamp(self._random_text(caller, 32), self._context.clock.seconds())

    def _random_text(self, caller: Caller, length: int) -> str:
        return self._context.identifiers.alphanumeric(f"{caller.solution}/social", length)


def _required(name: str, value: SecretStr | None) -> str:
    """Return a parameter that this protocol requires. Raises ServiceError 400 if it is missing."""
    text = value.get_secret_value() if value else ""
    if not text:
        raise ServiceError(400, f"Parameter {name} is required.")
    return text


def _unknown_token(parameter: str, status: int = 400) -> ServiceError:
    return ServiceError(
        status, f"Parameter {parameter} is unknown, used up or expired, or of another consumer."
    )
