"""The group Jwt of the User service (document 2, Jwt): signs and verifies tokens (RFC 7515, 7519).

PyJWT signs and parses; `exp` and `nbf` are checked here, against lab time.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NoReturn

import jwt
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import HMACAlgorithm
from pydantic import BeforeValidator, Field, PlainValidator, Secret, SecretBytes, SecretStr

from labkit.core.errors import ServiceError
from labkit.services.arguments import as_list
from labkit.services.bounds import DEEPEST, fits
from labkit.services.operation import Caller, operation
from labkit.services.user.group import Group
from labkit.services.user.keys import SIGNER, is_strict

LONGEST_KEY = 8 * 1024  # characters: an RSA key of 8192 bits takes 6,400 in PEM
LONGEST_TOKEN = 256 * 1024  # characters
TOO_LARGE = f"The payload is too large: a token may have {LONGEST_TOKEN} characters."
LARGEST_WHOLE = 2**53  # the largest integer up to which a script's numbers are exact

SMALLEST_RSA = 2048  # bits: RFC 7518, section 3.3
LARGEST_RSA = 8192  # bits: reading a larger one takes many seconds

KEY_FORMS = 'text, or a table {base64 = "…"} for a key of bytes'
URL_SAFE = str.maketrans("-_", "+/")  # from the URL-safe alphabet of RFC 4648 to the standard one
_PEM = re.compile(b"----[- ]BEGIN ")


def _object(value: object) -> object:
    return {} if value == [] else value  # an empty table of a script may arrive as a list


def _key(value: object) -> SecretStr | SecretBytes:
    """Return a key from text, or from `{base64 = "…"}` for bytes. Raises ValueError for an invalid key."""
    if isinstance(value, str):
        _check_length(len(value), "characters")
        return SecretStr(value)
    if not isinstance(value, Mapping) or set(value) != {"base64"} or not isinstance(value["base64"], str):
        raise ValueError(f"expected {KEY_FORMS}")
    text = value["base64"]
    _check_length(len(text), "characters")
    try:
        plain = text.translate(URL_SAFE).rstrip("=")
        data = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except ValueError:
        raise ValueError("expected base64 (RFC 4648, section 4 or 5)") from None
    _check_length(len(data), "bytes")
    return SecretBytes(data)


def _check_length(length: int, what: str) -> None:
    if not 1 <= length <= LONGEST_KEY:
        raise ValueError(f"expected 1 to {LONGEST_KEY} {what}, not {length}")


Algorithm = Literal["HS256", "HS384", "HS512", "RS256"]
Algorithms = Annotated[list[Algorithm], BeforeValidator(as_list), Field(min_length=1)]
Payload = Annotated[Secret[dict[str, Any]], BeforeValidator(_object)]
Key = Annotated[
    SecretStr | SecretBytes, PlainValidator(_key, json_schema_input_type=str | dict[Literal["base64"], str])
]
Token = Annotated[SecretStr, Field(max_length=LONGEST_TOKEN)]


class Jwt(Group):
    """Operations that sign and verify JSON Web Tokens (JWT)."""

    @operation
    async def jwtSign(
        self, caller: Caller, key: Key, payload: Payload, algorithm: Algorithm
    ) -> dict[str, object]:
        """Sign a payload, without adding claims. Returns `{token}`.

        key: the shared secret, as text or, for bytes, as `{base64 = "…"}` (either alphabet of RFC 4648);
        for RS256 a private key in PEM (PKCS#1 or PKCS#8, not encrypted). 400 for a key that does not fit the
        algorithm, and for a payload that JSON cannot represent.
        """
        data = encode_payload(payload.get_secret_value())
        # Loading a private key validates it, which is slow enough for a thread.
        private = await asyncio.to_thread(private_key, key) if algorithm == "RS256" else shared_secret(key)
        token = SIGNER.encode(data, private, algorithm)
        if len(token) > LONGEST_TOKEN:
            raise ServiceError(400, TOO_LARGE)
        return {"token": token}

    @operation
    async def jwtVerify(
        self, caller: Caller, key: Key, token: Token, algorithms: Algorithms
    ) -> dict[str, Any]:
        """Verify a token's signature, `exp` and `nbf`, and return its payload; the caller checks `aud` and `iss`.

        key: as for jwtSign, or for RS256 a public key or certificate in PEM; algorithms: the accepted signature
        algorithms. 400 for a malformed key or token; 401 for another algorithm, a wrong signature, or a token
        expired or not valid yet.
        """
        payload = decode_payload(self.verified(key, token.get_secret_value(), algorithms))
        check_times(payload, self._context.clock.now())
        return payload

    def verified(self, key: SecretStr | SecretBytes, token: str, algorithms: Iterable[str]) -> bytes:
        """Verify the signature of a token and return its payload."""
        try:
            algorithm = SIGNER.get_unverified_header(token).get("alg")
            if not isinstance(algorithm, str):
                _malformed("its header has no alg")
            if algorithm not in algorithms:
                raise ServiceError(
                    401, f"The token's alg is {algorithm[:20]!r}, expected {' or '.join(algorithms)}."
                )
            if not is_strict(token):
                _malformed("its signature is not base64url without padding")
            public = public_key(key) if algorithm == "RS256" else shared_secret(key)
            payload = SIGNER.decode(token, public, [algorithm])
        except jwt.InvalidSignatureError:
            raise ServiceError(401, "The token's signature does not fit the key.") from None
        except (jwt.InvalidTokenError, UnicodeEncodeError) as error:
            _malformed(str(error) if isinstance(error, jwt.InvalidTokenError) else "it is not ASCII")
        assert isinstance(payload, bytes)
        return payload


# ---- keys


def _bytes(key: SecretStr | SecretBytes) -> bytes:
    """Return the bytes of a key, including bytes of a script's text that are not UTF-8."""
    value = key.get_secret_value()
    try:
        return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ServiceError(400, f"Parameter key is no valid Unicode: expected {KEY_FORMS}.") from None


def shared_secret(key: SecretStr | SecretBytes) -> bytes:
    """Return the bytes of a shared secret. Raises ServiceError 400 for a malformed one.

    A key in PEM is refused: if a public key were accepted as the secret, anybody could sign (RFC 8725, section
    2.1).
    """
    data = _bytes(key)
    if _PEM.search(data):
        raise ServiceError(400, "Parameter key is a key in PEM: an HS algorithm needs a shared secret.")
    try:
        return HMACAlgorithm(HMACAlgorithm.SHA256).prepare_key(
            data
        )  # raises for other formats of public keys
    except jwt.InvalidKeyError:
        raise ServiceError(
            400, f"Parameter key is a key of another kind: expected a shared secret, {KEY_FORMS}."
        ) from None


def private_key(key: SecretStr | SecretBytes) -> rsa.RSAPrivateKey:
    """Return the RSA private key of a PEM text. Raises ServiceError 400 for another kind, encryption or size."""
    try:
        loaded = serialization.load_pem_private_key(_bytes(key), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: the key is encrypted
        raise ServiceError(
            400, "Parameter key is malformed: RS256 signs with an RSA private key in PEM, not encrypted."
        ) from None
    if not isinstance(loaded, rsa.RSAPrivateKey):
        raise ServiceError(400, "Parameter key is not an RSA key, which RS256 needs.")
    _check_size(loaded)
    return loaded


def public_key(key: SecretStr | SecretBytes) -> rsa.RSAPublicKey:
    """Return the RSA public key of a PEM text or certificate. Raises ServiceError 400 for another kind or size."""
    data = _bytes(key)
    try:
        loaded = (
            x509.load_pem_x509_certificate(data).public_key()
            if b"CERTIFICATE-----" in data
            else serialization.load_pem_public_key(data)
        )
    except (ValueError, UnsupportedAlgorithm):
        raise ServiceError(
            400, "Parameter key is malformed: RS256 verifies with an RSA public key or a certificate in PEM."
        ) from None
    if not isinstance(loaded, rsa.RSAPublicKey):
        raise ServiceError(400, "Parameter key is not an RSA key, which RS256 needs.")
    _check_size(loaded)
    return loaded


def _check_size(key: rsa.RSAPrivateKey | rsa.RSAPublicKey) -> None:
    if not SMALLEST_RSA <= key.key_size <= LARGEST_RSA:
        raise ServiceError(
            400,
            f"Parameter key is an RSA key of {key.key_size} bits, expected {SMALLEST_RSA} to {LARGEST_RSA}.",
        )


# ---- payloads


def encode_payload(payload: dict[str, Any]) -> bytes:
    """Return a payload as compact JSON. Raises ServiceError 400 if it is too large or JSON cannot represent it."""
    if not fits(payload, LONGEST_TOKEN):
        raise ServiceError(400, TOO_LARGE)
    try:
        plain = _plain(payload, DEEPEST)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    except ValueError as error:
        reason = "its text is not UTF-8" if isinstance(error, UnicodeEncodeError) else str(error)
        raise ServiceError(400, f"Parameter payload cannot be signed: {reason}.") from None


def decode_payload(data: bytes) -> dict[str, Any]:
    """Return the payload of a token, which is a JSON object. Raises ServiceError 400 if it is not."""
    try:
        payload = json.loads(data, object_pairs_hook=unique_names)
        if not isinstance(payload, dict):
            _malformed("its payload is not an object")
        plain: dict[str, Any] = _plain(payload, DEEPEST)
    except (ValueError, RecursionError) as error:
        _malformed(str(error) if isinstance(error, _NotPlainError) else "its payload is not JSON")
    return plain


class _NotPlainError(ValueError):
    """Error of a value that JSON cannot represent, or that JSON parsers would interpret differently."""


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object. Raises _NotPlainError if a name is duplicated.

    Of two claims with the same name, parsers use different ones (RFC 7519, section 4).
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotPlainError("its payload has a name twice")
    return found


def _plain(value: object, depth: int) -> Any:
    """Return a value with whole floats as integers, since Lua has one type of number. Raises _NotPlainError."""
    if isinstance(value, dict | list | tuple):
        if not depth:
            raise _NotPlainError(f"it is nested deeper than {DEEPEST}")
        if not isinstance(value, dict):
            return [_plain(each, depth - 1) for each in value]
        if not all(isinstance(name, str) for name in value):
            raise _NotPlainError("a name in it is not text")
        return {name: _plain(each, depth - 1) for name, each in value.items()}
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _NotPlainError("a number in it is not finite")
        return int(value) if value.is_integer() and abs(value) <= LARGEST_WHOLE else value
    if value is None or isinstance(value, str | int):
        return value
    raise _NotPlainError(f"JSON has no {type(value).__name__}")


def check_times(payload: dict[str, Any], now: float) -> None:
    """Raise ServiceError 401 for a token that is expired or not valid yet, 400 for a malformed `exp` or `nbf`.

    now: lab time in seconds (RFC 7519, 4.1.4 and 4.1.5).
    """
    for claim in ("exp", "nbf"):
        when = payload.get(claim, 0)
        if isinstance(when, bool) or not isinstance(when, int | float):
            _malformed(f"its {claim} is not a number")
    if "exp" in payload and now >= payload["exp"]:
        raise ServiceError(401, f"The token has expired: its exp is {payload['exp']}.")
    if "nbf" in payload and now < payload["nbf"]:
        raise ServiceError(401, f"The token is not valid yet: its nbf is {payload['nbf']}.")


def _malformed(reason: str) -> NoReturn:
    raise ServiceError(400, f"Parameter token is malformed: {reason.rstrip('.')}.")
