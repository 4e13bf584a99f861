"""Faults in signing and verifying JSON web tokens."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.hazmat.primitives import serialization
from pydantic import SecretBytes, SecretStr

from labkit.conformance.faults import CALL, with_parameters, with_result
from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError

JWT = "labkit.services.user.jwt"
SIGN = f"{JWT}:written"
READ = f"{JWT}:read_json"
VERIFIED = f"{JWT}:Jwt.verified"
TIMES = f"{JWT}:check_times"
SHARED = f"{JWT}:shared_secret"


@mutant("USR-JWT-1 USR-JWT-4", READ)
def objects_lost(original: Any) -> Any:
    """the payload comes back without the objects in it"""
    return lambda data: {name: value for name, value in original(data).items() if not isinstance(value, dict)}


@mutant("USR-JWT-1 USR-JWT-3", SIGN)
def another_payload(original: Any) -> Any:
    """whatever the payload is, another one is signed"""
    return lambda payload: original({"id": 1})


@mutant("USR-JWT-2", CALL)
def token_alone(original: Any) -> Any:
    """jwtSign gives the token without a table"""
    return with_result(original, "jwtSign", lambda found: found["token"])


@mutant("USR-JWT-2", CALL)
def more_than_the_token(original: Any) -> Any:
    """jwtSign gives the algorithm too"""
    return with_result(original, "jwtSign", lambda found: {**found, "algorithm": "HS256"})


@mutant("USR-JWT-3 USR-JWT-4", SHARED)
def key_in_base64(original: Any) -> Any:
    """a secret counts as base64"""
    return lambda key: base64.b64encode(original(key))


@mutant("USR-JWT-3 USR-JWT-4 USR-JWT-6", f"{JWT}:signer_of", from_start=True)
def one_hash(original: Any) -> Any:
    """HS384 and HS512 use SHA-256"""

    def broken() -> Any:
        signer = original()
        for name in ("HS384", "HS512"):
            weak = signer.get_algorithm_by_name("HS256")
            signer.unregister_algorithm(name)
            signer.register_algorithm(name, weak)
        return signer

    return broken


@mutant("USR-JWT-4", f"{JWT}:Jwt.verified")
def only_its_own(original: Any) -> Any:
    """a token with another header than the lab's own is malformed"""

    def broken(self: Any, key: Any, token: str, algorithms: Any) -> Any:
        if "ImtpZCI6" in token:  # "kid":
            raise ServiceError(400, "Parameter token is malformed.")
        return original(self, key, token, algorithms)

    return broken


def _payload(token: str) -> bytes:
    return base64.urlsafe_b64decode(f"{token.split('.')[1]}==")


@mutant("USR-JWT-5 USR-JWT-13", VERIFIED)
def unverified(original: Any) -> Any:
    """the signature is not looked at"""
    return lambda self, key, token, algorithms: _payload(token)


@mutant("USR-JWT-5", VERIFIED)
def no_signature_needed(original: Any) -> Any:
    """a token without a signature is as good as one that has it"""

    def broken(self: Any, key: Any, token: str, algorithms: Any) -> Any:
        return _payload(token) if token.endswith(".") else original(self, key, token, algorithms)

    return broken


@mutant("USR-JWT-6", VERIFIED)
def every_algorithm_allowed(original: Any) -> Any:
    """the list of algorithms is not looked at"""
    return lambda self, key, token, algorithms: original(
        self, key, token, ("HS256", "HS384", "HS512", "RS256")
    )


@mutant("USR-JWT-6", VERIFIED)
def first_of_the_list(original: Any) -> Any:
    """only the first algorithm of the list counts"""
    return lambda self, key, token, algorithms: original(self, key, token, algorithms[:1])


@mutant("USR-JWT-7", VERIFIED)
def none_is_fine(original: Any) -> Any:
    """a token whose algorithm is none needs no key"""

    def broken(self: Any, key: Any, token: str, algorithms: Any) -> Any:
        header = base64.urlsafe_b64decode(f"{token.split('.')[0]}==")
        return _payload(token) if b'"none"' in header else original(self, key, token, algorithms)

    return broken


@mutant("USR-JWT-7", "labkit.services.operation:Operation.arguments")
def unknown_is_hs256(original: Any) -> Any:
    """an algorithm that nobody knows is HS256"""

    def broken(self: Any, parameters: Any) -> Any:
        if self.name == "jwtSign" and parameters.get("algorithm") not in ("HS384", "HS512", "RS256"):
            parameters = {**parameters, "algorithm": "HS256"}
        return original(self, parameters)

    return broken


@mutant("USR-JWT-8", SIGN)
def claims_added(original: Any) -> Any:
    """every token gets an iat"""
    return lambda payload: original({"iat": 0, **payload})


@mutant("USR-JWT-9", SIGN)
def numbers_with_a_point(original: Any) -> Any:
    """whole numbers are signed with a decimal point"""
    return lambda payload: json.dumps(json.loads(original(payload), parse_int=float)).encode()


@mutant("USR-JWT-12", SHARED)
def anything_is_a_secret(original: Any) -> Any:
    """any text is a secret, a public key too"""
    return lambda key: key.get_secret_value().encode()


@mutant("USR-JWT-10", f"{JWT}:private_key")
def one_form_of_keys(original: Any) -> Any:
    """RS256 signs with a key in PKCS#8 alone"""

    def broken(key: SecretStr) -> Any:
        if "RSA PRIVATE" in key.get_secret_value():
            raise ServiceError(400, "Parameter key is malformed.")
        return original(key)

    return broken


@mutant("USR-JWT-11", f"{JWT}:public_key")
def private_key_verifies(original: Any) -> Any:
    """a private key verifies too"""

    def broken(key: SecretStr) -> Any:
        text = key.get_secret_value()
        if "PRIVATE" in text:
            return serialization.load_pem_private_key(text.encode(), None).public_key()
        return original(key)

    return broken


@mutant("USR-JWT-13", f"{JWT}:unique_names")
def last_name_wins(original: Any) -> Any:
    """of two claims with the same name the last counts"""
    return dict


@mutant("USR-JWT-14", TIMES)
def for_ever(original: Any) -> Any:
    """exp is not looked at"""
    return lambda payload, now: original({**payload, "exp": now + 1}, now)


@mutant("USR-JWT-14", TIMES)
def alive_at_its_last_second(original: Any) -> Any:
    """a token is alive in the second of its exp"""
    return lambda payload, now: original(payload, now - 1)


@mutant("USR-JWT-15", TIMES)
def iat_judged(original: Any) -> Any:
    """a token that was issued in the future is refused"""

    def broken(payload: Any, now: float) -> None:
        if payload.get("iat", 0) > now:
            raise ServiceError(401, "The token is not valid yet.")
        original(payload, now)

    return broken


@mutant("USR-JWT-16", CALL)
def every_algorithm_by_default(original: Any) -> Any:
    """where no algorithm is named all are allowed"""
    everything = ["HS256", "HS384", "HS512", "RS256"]
    return with_parameters(
        original,
        "jwtVerify",
        lambda parameters: {**parameters, "algorithms": parameters.get("algorithms") or everything},
    )


@mutant("USR-JWT-18", SHARED)
def keys_are_text(original: Any) -> Any:
    """the base64 of a key counts as its text"""

    def broken(key: Any) -> bytes:
        return base64.b64encode(original(key)) if isinstance(key, SecretBytes) else original(key)

    return broken
