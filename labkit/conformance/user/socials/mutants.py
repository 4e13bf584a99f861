"""Faults in social login."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from sqlalchemy import and_

from labkit.conformance.faults import CALL, gives, with_parameters, with_result
from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.services.user.socials import records as social_records
from labkit.services.user.socials.records import Social, social_table

RECORDS = "labkit.services.user.socials.records"
WEB = "labkit.services.user.socials.web"
OAUTH1 = "labkit.services.user.socials.oauth1"
OAUTH2 = "labkit.services.user.socials.oauth2"
SHOWN = f"{RECORDS}:Social.shown"
CHANGE = f"{RECORDS}:change"
TAKE = f"{RECORDS}:take"
ASK = f"{WEB}:Provider.ask_for_token"


# ---- the whole way


@mutant("USR-SOC-1", ASK)
def no_redirect_uri(original: Any) -> Any:
    """the token request does not tell the redirect"""

    def broken(self: Any, url: str, headers: Any, body: str | None = None) -> Any:
        kept = [pair for pair in (body or "").split("&") if not pair.startswith("redirect_uri=")]
        return original(self, url, headers, "&".join(kept) or None)

    return broken


@mutant("USR-SOC-1", f"{OAUTH2}:user")
def token_not_shown(original: Any) -> Any:
    """the user information is asked for without the token"""
    return lambda provider, token: provider.user({})


@mutant("USR-SOC-1", ASK)
def not_json(original: Any) -> Any:
    """the answer of the provider is taken for a form though it is JSON"""

    async def broken(*args: Any) -> Any:
        fields = await original(*args)
        return {json.dumps(fields): ""} if "access_token" in fields else fields

    return broken


@mutant("USR-SOC-2", f"{OAUTH1}:signed_headers")
def no_verifier(original: Any) -> Any:
    """the verifier is not handed on"""

    def broken(*args: Any, verifier: str | None = None, **named: Any) -> Any:
        return original(*args, **named)

    return broken


@mutant("USR-SOC-2", f"{OAUTH1}:signed_headers")
def token_secret_left_out(original: Any) -> Any:
    """requests are signed without the secret of the token"""

    def broken(provider: Any, method: Any, url: str, stamp: Any, token: Any = None, **named: Any) -> Any:
        return original(provider, method, url, stamp, token and replace(token, secret=""), **named)

    return broken


@mutant("USR-SOC-2", f"{OAUTH1}:user")
def one_nonce(original: Any) -> Any:
    """requests of user information have the same nonce"""
    return lambda provider, token, stamp: original(provider, token, replace(stamp, nonce="once"))


# ---- socials


@mutant("USR-SOC-3 USR-SOC-6", SHOWN)
def secret_hidden(original: Any) -> Any:
    """a social is shown without its secret"""
    return lambda self: {**original(self), "client_secret": "***"}


@mutant("USR-SOC-3 USR-SOC-6", SHOWN)
def scope_is_a_text(original: Any) -> Any:
    """the scope is one text"""
    return lambda self: {**original(self), "scope": " ".join(self.scope)}


@mutant("USR-SOC-4", CHANGE)
def the_rest_forgotten(original: Any) -> Any:
    """an update empties the scope where it is not given"""
    return lambda connection, solution, consumer, values: original(
        connection, solution, consumer, {"scope": (), **values}
    )


@mutant("USR-SOC-4", CHANGE)
def scope_stays(original: Any) -> Any:
    """an update cannot empty the scope"""

    def broken(connection: Any, solution: str, consumer: str, values: Any) -> None:
        original(connection, solution, consumer, {name: each for name, each in values.items() if each})

    return broken


@mutant("USR-SOC-4", CHANGE)
def nothing_changed(original: Any) -> Any:
    """an update changes nothing"""
    return lambda connection, solution, consumer, values: original(connection, solution, consumer, {})


@mutant("USR-SOC-5", f"{RECORDS}:remove")
def nothing_deleted(original: Any) -> Any:
    """a deleted social stays"""
    return lambda connection, solution, consumer: None


@mutant("USR-SOC-5", f"{RECORDS}:remove")
def all_deleted(original: Any) -> Any:
    """the other socials are deleted too"""

    def broken(connection: Any, solution: str, consumer: str) -> None:
        original(connection, solution, consumer)
        connection.execute(social_table.delete().where(social_table.c.solution == solution))

    return broken


@mutant("USR-SOC-6", f"{RECORDS}:known")
def another_social(original: Any) -> Any:
    """the social of another consumer is found"""

    def broken(connection: Any, solution: str, consumer: str) -> Social:
        original(connection, solution, consumer)
        query = social_table.select().where(social_table.c.solution == solution)
        row = connection.execute(query.order_by(social_table.c.folded.desc())).first()
        return Social(tuple(row.scope), row.consumer, row.redirect, row.client_id, row.client_secret)

    return broken


@mutant("USR-SOC-7", f"{RECORDS}:every")
def one_listed(original: Any) -> Any:
    """only one social is listed"""
    return lambda connection, solution: original(connection, solution)[:1]


@mutant("USR-SOC-7", CALL)
def names_listed(original: Any) -> Any:
    """the list has the names of consumers alone"""
    return with_result(original, "socialList", lambda found: [each["consumer"] for each in found])


@mutant("USR-SOC-8 USR-SOC-9 USR-SOC-10", CALL)
def in_a_table(original: Any) -> Any:
    """what is a text stands in a table"""
    texts = ("getSocialLoginUrl", "getSocialToken", "socialRequest")
    return gives(
        original, "User", lambda operation, result: {"value": result} if operation in texts else result
    )


@mutant("USR-SOC-8", f"{OAUTH1}:login_url")
def token_not_carried(original: Any) -> Any:
    """the URL carries no request token"""
    return lambda provider, token: provider.at.authorize


@mutant("USR-SOC-9", CALL)
def code_for_token(original: Any) -> Any:
    """every code is used up before it is exchanged"""
    used = {"code": "used", "oauth_verifier": "used"}
    return with_parameters(original, "getSocialToken", lambda parameters: {**parameters, **used})


@mutant("USR-SOC-10", CALL)
def user_as_table(original: Any) -> Any:
    """the user information is a table"""
    return with_result(original, "socialRequest", json.loads)


@mutant("USR-SOC-11", f"{OAUTH2}:login_url")
def scopes_of_its_own(original: Any) -> Any:
    """every login asks for profile and email"""

    def broken(provider: Any, state: str) -> Any:
        social = replace(provider.social, scope=("profile", "email"))
        return original(replace(provider, social=social), state)

    return broken


@mutant("USR-SOC-12", "labkit.services.operation:Operation.arguments")
def scope_required(original: Any) -> Any:
    """a social needs a scope"""

    def broken(self: Any, parameters: Any) -> Any:
        if self.name == "createSocial" and not parameters.get("scope"):
            raise ServiceError(400, "Parameter scope is required.")
        return original(self, parameters)

    return broken


@mutant("USR-SOC-13", f"{RECORDS}:of_consumer")
def letter_case_counts(original: Any) -> Any:
    """a consumer is found by its exact spelling alone"""
    return lambda solution, consumer: and_(original(solution, consumer), social_table.c.consumer == consumer)


# ---- state and request token


@mutant("USR-SOC-17 USR-SOC-19", TAKE)
def counts_again(original: Any) -> Any:
    """a state and a request token count as often as they come"""
    return social_records.find


@mutant("USR-SOC-17 USR-SOC-19", f"{RECORDS}:alive")
def alive_at_the_last_second(original: Any) -> Any:
    """a state and a request token are alive in their last second"""
    return lambda login, now: original(login, now - 1)


@mutant("USR-SOC-18", CALL)
def token_with_a_dash(original: Any) -> Any:
    """a request token has a dash"""
    return with_result(
        original, "getSocialLoginUrl", lambda text: text if ":" in text else f"{text[:8]}-{text[8:]}"
    )


@mutant("USR-SOC-21", f"{WEB}:Provider.refused")
def refusals_without_name(original: Any) -> Any:
    """a refusal does not tell the provider's reason"""
    return lambda self, named, described: ServiceError(400, "The provider refuses.")
