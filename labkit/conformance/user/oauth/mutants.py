"""Faults of the OAuth provider: its clients, and the codes that their users approve."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import CALL, with_parameters, with_result
from labkit.conformance.mutant import mutant
from labkit.services.user import accounts
from labkit.services.user.oauth import access_tokens
from labkit.services.user.oauth import clients as oauth_clients

CLIENTS = "labkit.services.user.oauth.clients"
CODES = "labkit.services.user.oauth.codes"
SHOWN = f"{CLIENTS}:Client.shown"
PATH = f"{CLIENTS}:Client.path"
ISSUE = f"{CODES}:issue"


# ---- clients


@mutant("USR-OAUTH-2 USR-OAUTH-9", SHOWN)
def no_owner(original: Any) -> Any:
    """a client does not tell whose it is"""
    return lambda self: {name: value for name, value in original(self).items() if name != "user_id"}


@mutant("USR-OAUTH-2", CALL)
def wrapped(original: Any) -> Any:
    """createOauthClient gives the client within an object"""
    return with_result(original, "createOauthClient", lambda client: {"oauth_client": client})


@mutant("USR-OAUTH-3", f"{CLIENTS}:shown_time")
def times_of_machines(original: Any) -> Any:
    """times have a T and a zone"""
    return lambda now: original(now).replace(" ", "T") + "Z"


@mutant("USR-OAUTH-4", CALL)
def one_redirect(original: Any) -> Any:
    """of several redirects the first one is kept"""

    def first(parameters: dict[str, Any]) -> dict[str, Any]:
        redirect = parameters.get("redirect")
        return {**parameters, "redirect": redirect[0] if isinstance(redirect, list) else redirect}

    return with_parameters(original, "createOauthClient", first)


@mutant("USR-OAUTH-5", f"{CLIENTS}:change")
def redirect_kept(original: Any) -> Any:
    """an update changes the name alone"""

    def broken(connection: Any, solution: str, user_id: int, id: int, name: str, _: Any, now: int) -> Any:
        client = oauth_clients.get(connection, solution, id)
        return original(connection, solution, user_id, id, name, client.redirects if client else [], now)

    return broken


@mutant("USR-OAUTH-6", f"{CLIENTS}:revoke")
def never_deleted(original: Any) -> Any:
    """a deleted client stays"""
    return lambda *args: None


@mutant("USR-OAUTH-7", f"{CLIENTS}:revoke_client")
def tokens_survive(original: Any) -> Any:
    """the tokens of a deleted client live on"""
    return lambda *args: None


@mutant("USR-OAUTH-8", f"{CLIENTS}:update_client")
def anybodys(original: Any) -> Any:
    """every user may change every client"""

    def broken(connection: Any, solution: str, user_id: int, id: int, now: int, **values: Any) -> Any:
        client = oauth_clients.get(connection, solution, id)
        owner = client.user_id if client else user_id
        return original(connection, solution, owner, id, now, **values)

    return broken


@mutant("USR-OAUTH-9", CALL)
def bare_list(original: Any) -> Any:
    """getOauthClients gives the list alone"""
    return with_result(original, "getOauthClients", lambda found: found["oauth_clients"])


@mutant("USR-OAUTH-9", f"{CLIENTS}:of_user")
def everybodys(original: Any) -> Any:
    """a user without clients is shown the first one of the solution"""

    def broken(connection: Any, solution: str, user_id: int) -> Any:
        first = oauth_clients.get(connection, solution, 1)
        return original(connection, solution, user_id) or [first]

    return broken


@mutant("USR-OAUTH-10", PATH)
def always_the_first(original: Any) -> Any:
    """redirectIndex picks nothing"""
    return lambda self, index: original(self, 0)


@mutant("USR-OAUTH-11", f"{CLIENTS}:quote")
def bare_redirect(original: Any) -> Any:
    """the redirect stands in the path as it is"""
    return lambda text, safe="": text


# ---- codes


@mutant("USR-OAUTH-12", ISSUE)
def owner_for_user(original: Any) -> Any:
    """a code is for the owner of the client"""

    def broken(connection: Any, solution: str, user: Any, approved: Any, *args: Any) -> None:
        client = oauth_clients.get(connection, solution, approved.client_id)
        owner = accounts.get(connection, solution, client.user_id) if client else None
        original(connection, solution, owner or user, approved, *args)

    return broken


@mutant("USR-OAUTH-14", "labkit.services.user.user_tokens:user_of")
def clients_approve(original: Any) -> Any:
    """an access token counts as a user token"""

    async def broken(*given: Any) -> Any:
        user = await original(*given)
        return user or await access_tokens.user_of(*given)

    return broken


@mutant("USR-OAUTH-15", CALL)
def long_codes(original: Any) -> Any:
    """a code is Base64, so that it has to be encoded"""
    return with_result(original, "getOauthAuthorizeApproved", lambda code: f"{code}+/=")


@mutant("USR-OAUTH-16 USR-OAUTH-38", f"{CODES}:check")
def redirect_prefix(original: Any) -> Any:
    """a redirect has to begin like one of the client's own"""

    def broken(client: Any, approved: Any) -> None:
        near = [uri for uri in client.redirects if approved.redirect_uri.startswith(uri)] if client else []
        original(client, approved._replace(redirect_uri=near[0]) if near else approved)

    return broken


@mutant("USR-OAUTH-17", f"{CODES}:check")
def anything_goes(original: Any) -> Any:
    """response_type and scope are not looked at"""
    return lambda client, approved: original(client, approved._replace(response_type="code", scope=""))
