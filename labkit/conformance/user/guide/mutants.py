"""Code mutants that the solution of the guides shows, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

import jwt

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch

refusals_are_fine = patch(
    "USR-GUIDE-4 USR-GUIDE-6 USR-GUIDE-8 USR-GUIDE-13 USR-GUIDE-15 USR-GUIDE-22",
    "labkit.solutions.web.response:response_status",
    "a script's status 4xx is sent as 200",
)(change_result(lambda status: 200 if 400 <= status < 500 else status))
roles_without_parameters = patch(
    "USR-GUIDE-17", "labkit.services.user.roles.roles:create", "createRole ignores the parameters", alone=True
)(change_arguments(parameters=()))
same_state = patch(
    "USR-GUIDE-27", "labkit.services.user.socials.oauth2:login_url", "every login has the same state"
)(change_arguments(state="always"))
head_as_get = patch(
    "USR-GUIDE-35", "labkit.solutions.web.request:Request.table", "a script sees HEAD as GET"
)(change_result(lambda request: {**request, "method": request["method"].replace("HEAD", "GET")}))


@patch("USR-GUIDE-37 USR-GUIDE-39", "labkit.services.user.oauth.access_tokens:sign")
async def scopes_hidden(original: Any, context: Any, keys: Any, *of: Any) -> Any:
    """an access token has the scopes in another claim"""
    claims = jwt.decode(await original(context, keys, *of), options={"verify_signature": False})
    claims["scope"] = claims.pop("scopes")
    return jwt.encode(claims, await keys.private(), algorithm="RS256")
