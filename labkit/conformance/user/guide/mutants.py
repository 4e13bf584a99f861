"""Faults of the platform that the solution of the guides shows: its scripts stand on these functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jwt

from labkit.conformance.faults import CALL, failed, given, gives, with_parameters, with_result
from labkit.conformance.mutant import mutant
from labkit.services.calls import Services
from labkit.services.operation import Caller

STATUS = "labkit.solutions.response:response_status"
HEADERS = "labkit.solutions.response:response_headers"


def _answered(original: Any, operation: str, answer: Any) -> Any:
    """Change what one operation of User gives: answer(parameters, result)."""

    async def broken(self: Services, caller: Caller, service: str, name: str, parameters: Any = None) -> Any:
        result = await original(self, caller, service, name, parameters)
        return answer(parameters, result) if (service, name) == ("User", operation) else result

    return broken


def _sent(original: Any, change: Any) -> Any:
    """Change what scripts say of their headers: change(name, value) gives a value, or None to leave it out."""

    def broken(headers: Any) -> Iterator[tuple[str, str]]:
        for name, value in original(headers):
            changed = change(name.lower(), value)
            if changed is not None:
                yield name, changed

    return broken


# ---- mails


@mutant("USR-GUIDE-1 USR-GUIDE-5", CALL)
def domain_of_nobody(original: Any) -> Any:
    """a solution is told another domain than the one it is reached at"""
    return gives(
        original,
        "Config",
        lambda operation, result: (
            {**result, "domain": "elsewhere.example"} if operation == "solution" else result
        ),
    )


@mutant("USR-GUIDE-1 USR-GUIDE-5", CALL)
def mails_lost(original: Any) -> Any:
    """mails go to somebody else"""
    return given(original, "Email", lambda operation, parameters: {**parameters, "to": "eve@example.com"})


# ---- what goes wrong is told


@mutant("USR-GUIDE-2", CALL)
def signup_of_anybody(original: Any) -> Any:
    """createUser gives a code for an address that is taken"""
    return _answered(
        original, "createUser", lambda parameters, result: "x" * 40 if failed(result) else result
    )


@mutant("USR-GUIDE-4 USR-GUIDE-6 USR-GUIDE-8 USR-GUIDE-13 USR-GUIDE-15 USR-GUIDE-22", STATUS)
def refusals_are_fine(original: Any) -> Any:
    """the status 4xx that a script sets is lost"""
    return lambda code: 200 if isinstance(code, int | float) and 400 <= code < 500 else original(code)


# ---- who is found, and a new password


@mutant("USR-GUIDE-22", CALL)
def everybody_is_found(original: Any) -> Any:
    """listUsers makes up a user for an address that nobody has"""

    def made_up(parameters: Any, result: Any) -> Any:
        email = str(parameters.get("filter", "")).removeprefix("email::eq::")
        return result or [{"id": 1, "email": email, "name": "Ann", "status": 1, "creation_date": 0}]

    return _answered(original, "listUsers", made_up)


@mutant("USR-GUIDE-5 USR-GUIDE-7 USR-GUIDE-19 USR-GUIDE-20 USR-GUIDE-21 USR-GUIDE-23", CALL)
def nobody_is_found(original: Any) -> Any:
    """listUsers finds nobody"""
    return _answered(original, "listUsers", lambda parameters, result: [])


@mutant("USR-GUIDE-7 USR-GUIDE-33", CALL)
def never_deleted(original: Any) -> Any:
    """the Keystore deletes nothing"""

    def kept(operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        return {**parameters, "command": "exists"} if parameters.get("command") == "del" else parameters

    return given(original, "Keystore", kept)


@mutant("USR-GUIDE-8", CALL)
def every_token_known(original: Any) -> Any:
    """a key that is not there has a value, stands in every set, and is deleted"""
    requested: list[str] = []

    async def broken(self: Services, caller: Caller, service: str, name: str, parameters: Any = None) -> Any:
        result = await original(self, caller, service, name, parameters)
        command = parameters.get("command") if service == "Keystore" else None
        if service == "Keystore" and name == "get" and not result.get("value"):
            requested.append(parameters["key"].rpartition(":")[2])
            return {"value": "1"}
        if command == "smembers" and requested:
            return {"value": [*result["value"], requested[-1]]}
        return {"value": 1} if command == "del" else result

    return broken


@mutant("USR-GUIDE-9", CALL)
def short_lived(original: Any) -> Any:
    """a key lives half as long as it should"""
    return _for_seconds(original, 43_200)


@mutant("USR-GUIDE-9", CALL)
def long_lived(original: Any) -> Any:
    """a key lives a second longer than it should"""
    return _for_seconds(original, 86_401)


def _for_seconds(original: Any, seconds: int) -> Any:
    def lengthened(operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        if parameters.get("command") in ("setex", "expire"):
            return {**parameters, "args": [seconds, *parameters["args"][1:]]}
        return parameters

    return given(original, "Keystore", lengthened)


@mutant("USR-GUIDE-10", CALL)
def first_is_meant(original: Any) -> Any:
    """eq finds whoever has a part of the value"""

    def loosened(parameters: dict[str, Any]) -> dict[str, Any]:
        return {**parameters, "filter": str(parameters.get("filter", "")).replace("::eq::", "::like::")}

    return with_parameters(original, "listUsers", loosened)


@mutant("USR-GUIDE-32", CALL)
def another_value(original: Any) -> Any:
    """the Keystore keeps under a key that expires more than it is given"""

    def longer(operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        if parameters.get("command") == "setex":
            seconds, value = parameters["args"]
            return {**parameters, "args": [seconds, f"user {value}"]}
        return parameters

    return given(original, "Keystore", longer)


@mutant("USR-GUIDE-34", "labkit.services.user.users.filters:folded")
def compared_as_written(original: Any) -> Any:
    """a filter compares addresses as they are written"""
    return lambda text: text


@mutant("USR-GUIDE-35", "labkit.solutions.request:Request.table")
def head_as_get(original: Any) -> Any:
    """a script sees HEAD as GET"""
    return lambda self: {**original(self), "method": "GET" if self.method == "HEAD" else self.method}


@mutant("USR-GUIDE-36", "labkit.solutions.request:headers")
def all_is_json(original: Any) -> Any:
    """a script is told that each body is JSON"""
    return lambda given: {**original(given), "content-type": "application/json"}


@mutant("USR-GUIDE-37 USR-GUIDE-39", "labkit.services.user.oauth.access_tokens:sign")
def scopes_hidden(original: Any) -> Any:
    """an access token tells the scopes under another name"""

    async def broken(context: Any, keys: Any, *args: Any) -> str:
        key = await keys.private()
        text = await original(context, keys, *args)
        claims = jwt.decode(text, options={"verify_signature": False})
        claims["scope"] = claims.pop("scopes")
        return jwt.encode(claims, key, algorithm="RS256")

    return broken


@mutant("USR-GUIDE-38", "labkit.services.user.oauth.tokens:authenticate")
def any_secret(original: Any) -> Any:
    """a wrong client_secret counts as none"""
    return lambda connection, solution, requested: original(
        connection, solution, requested._replace(client_secret=None)
    )


# ---- sessions


@mutant("USR-GUIDE-12 USR-GUIDE-27 USR-GUIDE-29", HEADERS)
def leads_nowhere(original: Any) -> Any:
    """a script's Location is lost"""
    return _sent(original, lambda name, value: None if name == "location" else value)


@mutant("USR-GUIDE-12 USR-GUIDE-13 USR-GUIDE-29 USR-GUIDE-30", HEADERS)
def no_cookies(original: Any) -> Any:
    """a script's cookies are lost"""
    return _sent(original, lambda name, value: None if name == "set-cookie" else value)


@mutant("USR-GUIDE-16", HEADERS)
def bare_cookies(original: Any) -> Any:
    """a cookie has its path and no other attribute"""

    def bare(name: str, value: str) -> str:
        return "; ".join(value.split("; ")[:2]) if name == "set-cookie" else value

    return _sent(original, bare)


@mutant("USR-GUIDE-14", HEADERS)
def cached(original: Any) -> Any:
    """a script's Cache-Control is lost"""
    return _sent(original, lambda name, value: None if name == "cache-control" else value)


@mutant(
    "USR-GUIDE-14 USR-GUIDE-19 USR-GUIDE-20 USR-GUIDE-21 USR-GUIDE-22", "labkit.solutions.request:headers"
)
def no_sessions(original: Any) -> Any:
    """a script sees no cookies"""

    def broken(given: Any) -> Mapping[str, str]:
        return {name: value for name, value in original(given).items() if name != "cookie"}

    return broken


@mutant("USR-GUIDE-15", CALL)
def any_session(original: Any) -> Any:
    """any token is somebody's"""
    someone = {"id": 1, "email": "ann@example.com", "name": "Ann", "status": 1, "creation_date": 0}
    return _answered(
        original, "getCurrentUser", lambda parameters, result: someone if failed(result) else result
    )


# ---- roles


@mutant("USR-GUIDE-17", CALL)
def roles_without_parameters(original: Any) -> Any:
    """createRole forgets the parameters"""
    return with_parameters(original, "createRole", lambda parameters: {"role_id": parameters.get("role_id")})


@mutant("USR-GUIDE-18", CALL)
def no_second_set_up(original: Any) -> Any:
    """createRole of a role that is there is 400"""
    return _answered(
        original,
        "createRole",
        lambda parameters, result: {**result, "status": 400} if failed(result) else result,
    )


@mutant("USR-GUIDE-20 USR-GUIDE-21", CALL)
def everybody_has_the_role(original: Any) -> Any:
    """hasUserRoleParam is OK for everybody"""
    return _answered(original, "hasUserRoleParam", lambda parameters, result: "OK")


@mutant("USR-GUIDE-19 USR-GUIDE-20", CALL)
def nobody_has_the_role(original: Any) -> Any:
    """hasUserRoleParam is OK for nobody"""
    refusal = {"type": "QueryError", "error": '{"message": "no"}', "status": 403}
    return _answered(original, "hasUserRoleParam", lambda parameters, result: refusal)


@mutant("USR-GUIDE-24 USR-GUIDE-25", CALL)
def all_is_permitted(original: Any) -> Any:
    """hasUserPerm is OK for everybody"""
    return _answered(original, "hasUserPerm", lambda parameters, result: "OK")


@mutant("USR-GUIDE-24", CALL)
def nothing_taken_away(original: Any) -> Any:
    """deassignUserParam leaves what is assigned"""

    async def broken(self: Services, caller: Caller, service: str, name: str, parameters: Any = None) -> Any:
        name = "listUserRoles" if (service, name) == ("User", "deassignUserParam") else name
        return await original(self, caller, service, name, parameters)

    return broken


# ---- social login


@mutant("USR-GUIDE-27", "labkit.services.user.socials.oauth2:login_url")
def same_state(original: Any) -> Any:
    """every login has the same state"""
    return lambda provider, state: original(provider, "always")


@mutant("USR-GUIDE-28", CALL)
def query_lost(original: Any) -> Any:
    """getSocialToken gets nothing of a callback's query"""
    return _without_attributes(original, ("code", "state"))


@mutant("USR-GUIDE-30", CALL)
def request_token_lost(original: Any) -> Any:
    """getSocialToken gets no request token"""
    return _without_attributes(original, ("reqToken",))


def _without_attributes(original: Any, lost: tuple[str, ...]) -> Any:
    return with_parameters(
        original,
        "getSocialToken",
        lambda parameters: {name: value for name, value in parameters.items() if name not in lost},
    )


@mutant("USR-GUIDE-28 USR-GUIDE-30", CALL)
def nothing_returned(original: Any) -> Any:
    """socialRequest tells nothing of anybody"""
    return with_result(original, "socialRequest", lambda answer: "{}")
