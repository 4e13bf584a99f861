"""Faults in signing and verifying JSON web tokens that no row can say."""

from __future__ import annotations

import base64
import json
from typing import Any

from pydantic import SecretBytes

from labkit.conformance.mutant import mutant

JWT = "labkit.services.user.jwt"
TIMES = f"{JWT}:check_times"
SHARED = f"{JWT}:shared_secret"


@mutant("USR-JWT-3 USR-JWT-4", SHARED)
def key_in_base64(original: Any) -> Any:
    """a secret counts as base64"""
    return lambda key: base64.b64encode(original(key))


@mutant("USR-JWT-5 USR-JWT-13", f"{JWT}:Jwt.verified")
def unverified(original: Any) -> Any:
    """the signature is not looked at"""
    return lambda self, key, token, algorithms: base64.urlsafe_b64decode(f"{token.split('.')[1]}==")


@mutant("USR-JWT-9", f"{JWT}:written")
def numbers_with_a_point(original: Any) -> Any:
    """whole numbers are signed with a decimal point"""
    return lambda payload: json.dumps(json.loads(original(payload), parse_int=float)).encode()


@mutant("USR-JWT-12", SHARED)
def anything_is_a_secret(original: Any) -> Any:
    """any text is a secret, a public key too"""
    return lambda key: key.get_secret_value().encode()


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


@mutant("USR-JWT-18", SHARED)
def keys_are_text(original: Any) -> Any:
    """the base64 of a key counts as its text"""
    return lambda key: base64.b64encode(original(key)) if isinstance(key, SecretBytes) else original(key)
