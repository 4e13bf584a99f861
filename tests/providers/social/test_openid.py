"""OpenID of the providers: discovery, keys, ID tokens, and revocation (RFC 7009)."""

from __future__ import annotations

from typing import Any

import jwt
import pytest

from labkit import Lab
from labkit.providers.social.messages import Application
from tests.providers.social.clients import ANN, CALLBACK, code_for, post, redeem, userinfo

IN_LAB_TIME: Any = {"verify_exp": False, "verify_iat": False}  # PyJWT would compare with real time


@pytest.mark.parametrize("name", ["google", "acme"])
def test_a_client_finds_keys_that_verify_the_id_token(lab: Lab, name: str) -> None:
    provider = lab.provider(name)
    if name != "acme":
        provider.people.add(**ANN)
    application = provider.register(CALLBACK)
    issuer = provider.endpoints["token"].removesuffix("/token")
    found = lab.browser().get(f"{issuer}/.well-known/openid-configuration").json()
    assert (found["issuer"], found["userinfo_endpoint"]) == (issuer, provider.endpoints["userinfo"])
    tokens = redeem(lab, provider, application, code_for(provider, application)).json()
    assert "id_token" not in tokens  # without the scope
    code = code_for(provider, application, scope="openid email", nonce="n-1")
    tokens = redeem(lab, provider, application, code).json()
    keys = jwt.PyJWKSet.from_dict(lab.browser().get(found["jwks_uri"]).json())
    key = keys[jwt.get_unverified_header(tokens["id_token"])["kid"]]
    claims = jwt.decode(
        tokens["id_token"], key, ["RS256"], audience=application.client_id, options=IN_LAB_TIME
    )
    assert (claims["iss"], claims["nonce"], claims["email"]) == (issuer, "n-1", ANN["email"])
    assert claims["sub"] == userinfo(lab, provider, tokens["access_token"]).json()["sub"] == "ann"


def test_a_client_revokes_its_own_tokens(lab: Lab) -> None:
    provider = lab.provider("acme")
    application, other = provider.register(CALLBACK), provider.register(CALLBACK)
    url = provider.endpoints["token"].removesuffix("token") + "revoke"
    tokens = [redeem(lab, provider, application, code_for(provider, application)).json() for _ in range(2)]

    def revoke(token: str, client: Application = application, secret: str | None = None) -> int:
        auth = (client.client_id, secret or client.client_secret)
        return post(lab, url, data={"token": token}, auth=auth).status_code

    def alive() -> list[int]:
        return [userinfo(lab, provider, each["access_token"]).status_code for each in tokens]

    assert revoke(tokens[0]["access_token"], secret="wrong") == 401
    assert revoke(tokens[0]["access_token"], other) == revoke("unknown") == 200
    assert alive() == [200, 200]
    assert revoke(tokens[0]["access_token"]) == revoke(tokens[1]["refresh_token"]) == 200
    assert alive() == [401, 401]
    again = {"grant_type": "refresh_token", "code": None, "redirect_uri": None}
    answers = [
        redeem(lab, provider, application, "", **again, refresh_token=each["refresh_token"]).status_code
        for each in tokens
    ]
    assert answers == [200, 400]
