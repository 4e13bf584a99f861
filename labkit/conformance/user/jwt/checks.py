"""Signing and verifying JSON web tokens, compared with the results that the RFCs specify."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import hmac
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.jwts import base64url, decode, encode
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.target import Target
from labkit.conformance.users import User
from labkit.conformance.verdict import Mismatch

SECRET = "a secret that is long enough for each of the algorithms, for SHA-512 too"
HASHES = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}
ALGORITHMS = [*HASHES, "RS256"]
PAYLOAD = {
    "sub": "ann",
    "roles": ["owner", "guest"],
    "more": {"exp": 1, "é": "ü漢😀", "fine": True, "share": 0.5},
}
PAST, FUTURE = 1, 4_102_444_800  # Unix seconds: of 1970 and of 2100

PEM = serialization.Encoding.PEM
PKCS1 = serialization.PrivateFormat.TraditionalOpenSSL
PKCS8 = serialization.PrivateFormat.PKCS8


@functools.cache
def pair() -> rsa.RSAPrivateKey:
    """Return the key pair of these checks, generated once."""
    return rsa.generate_private_key(65537, 2048)


def private(form: serialization.PrivateFormat = PKCS8) -> str:
    return pair().private_bytes(PEM, form, serialization.NoEncryption()).decode()


def public(form: serialization.PublicFormat = serialization.PublicFormat.SubjectPublicKeyInfo) -> str:
    return pair().public_key().public_bytes(PEM, form).decode()


def certificate() -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "signer")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(name, name, pair().public_key(), 1, start, start.replace(year=2100))
    return builder.sign(pair(), hashes.SHA256()).public_bytes(PEM).decode()


def keys(algorithm: str) -> tuple[str, str]:
    """Return the keys for signing and for verifying with an algorithm."""
    return (private(), public()) if algorithm == "RS256" else (SECRET, SECRET)


def signature(algorithm: str, signed: str, key: str = SECRET) -> str:
    """Return the signature of RFC 7518."""
    if algorithm == "RS256":
        return base64url(pair().sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))
    return base64url(hmac.new(key.encode(), signed.encode(), HASHES[algorithm]).digest())


def mint(payload: object, header: object = None, algorithm: str = "HS256", key: str = SECRET) -> str:
    """Return a token minted without the User service."""
    signed = f"{encode(header or {'alg': algorithm})}.{encode(payload)}"
    return f"{signed}.{signature(algorithm, signed, key)}"


async def signed(user: User, payload: object, algorithm: str, key: str) -> dict[str, Any]:
    """Return the object that jwtSign gives."""
    result = await user.table("jwtSign", key=key, payload=payload, algorithm=algorithm)
    expect.true("jwtSign gives an object", isinstance(result, dict), type(result).__name__, user.last)
    return dict(result)


async def signs(user: User, payload: object, algorithm: str = "HS256", key: str = "") -> str:
    """Return the token that jwtSign gives."""
    key = key or keys(algorithm)[0]
    token = (await signed(user, payload, algorithm, key)).get("token")
    expect.true("jwtSign gives a token", isinstance(token, str), type(token).__name__, user.last)
    return str(token)


async def verifies(user: User, token: str, algorithm: str = "HS256", key: str = "") -> Any:
    """Return the payload that jwtVerify gives."""
    key = key or keys(algorithm)[1]
    return await user.table("jwtVerify", key=key, token=token, algorithms=[algorithm])


async def refuses(user: User, status: int, token: str, algorithms: object = None, key: str = SECRET) -> str:
    """Return the message of jwtVerify's refusal, which must have this status."""
    given = algorithms if algorithms is not None else ["HS256"]
    error = await user.refused("jwtVerify", status, key=key, token=token, algorithms=given)
    return str(error["message"])


@check("USR-JWT-1", "the verified payload equals the signed one, with each algorithm")
async def round_trip(target: Target) -> None:
    user = User(target)
    for algorithm in ALGORITHMS:
        token = await signs(user, PAYLOAD, algorithm)
        user.same(f"payload by {algorithm}", await verifies(user, token, algorithm), PAYLOAD)


@check("USR-JWT-2", "the result has the token and nothing else")
async def result(target: Target) -> None:
    user = User(target)
    found = await signed(user, {"a": 1}, "HS256", SECRET)
    user.same(
        "the names in it", {name: type(value).__name__ for name, value in found.items()}, {"token": "str"}
    )


@check("USR-JWT-3", "each algorithm's signature is the one that the RFC asks for")
async def signature_of_the_rfc(target: Target) -> None:
    user = User(target)
    for algorithm in ALGORITHMS:
        token = await signs(user, {"sub": "ann"}, algorithm)
        header, payload, sign = decode(token)
        user.same("alg", header.get("alg"), algorithm)
        user.same("the payload in it", payload, {"sub": "ann"})
        signed, _, last = token.rpartition(".")
        if algorithm != "RS256":
            expect.true(f"the signature is {algorithm}", last == signature(algorithm, signed), "another")
            continue
        try:
            pair().public_key().verify(sign, signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            raise Mismatch("the signature", "RSA with SHA-256", "another") from None


@check("USR-JWT-4", "tokens that others signed are verified")
async def of_others(target: Target) -> None:
    user = User(target)
    for algorithm in ALGORITHMS:
        for header in ({"alg": algorithm}, {"typ": "at+jwt", "kid": "1", "alg": algorithm}):
            token = mint(PAYLOAD, header, algorithm)
            user.same(f"payload by {algorithm}", await verifies(user, token, algorithm), PAYLOAD)


@check("USR-JWT-5 USR-JWT-13", "a signature that does not fit is 401")
async def untrue(target: Target) -> None:
    user = User(target)
    token = await signs(user, {"sub": "ann"})
    header, payload, sign = token.split(".")
    for attack in (
        f"{header}.{payload}.",
        f"{header}.{payload}.{sign[:-3]}",
        f"{header}.{payload}.{sign[:-1]}AAAAA",
        f"{header}.{payload}.{mint({}).rpartition('.')[2]}",
        f"{header}..{sign}",
        f"{encode({'alg': 'HS384'})}.{payload}.{sign}",
        mint({}, {"alg": "HS256", "jwk": {"kty": "oct", "k": encode("guess")}}, key="guess"),
        mint({}, {"alg": "HS256", "jku": "https://eve.example/keys"}, key="guess"),
        f"{header}.{encode({'sub': 'eve'})}.{sign}",
        f"{encode({'typ': 'JWT', 'alg': 'HS256', 'kid': '1'})}.{payload}.{sign}",
        mint({"sub": "ann"}, key=f"{SECRET}."),
    ):
        await refuses(user, 401, attack, ALGORITHMS)
    for algorithm in HASHES:
        await refuses(user, 401, mint({"sub": "ann"}, algorithm=algorithm), [algorithm], f"{SECRET}.")
    header, _, sign = (await signs(user, {"sub": "ann"}, "RS256")).split(".")
    await refuses(user, 401, f"{header}.{encode({'sub': 'eve'})}.{sign}", ["RS256"], public())


@check("USR-JWT-6 USR-JWT-13", "only the listed algorithms are accepted")
async def allowed(target: Target) -> None:
    user = User(target)
    for algorithm in ALGORITHMS:
        token, key = mint({"a": 1}, algorithm=algorithm), keys(algorithm)[1]
        found = await user.table("jwtVerify", key=key, token=token, algorithms=ALGORITHMS)
        user.same(f"payload by {algorithm}", found, {"a": 1})
        await refuses(user, 401, token, [each for each in ALGORITHMS if each != algorithm], key)


@check("USR-JWT-7", "no other algorithm signs or verifies, and none least of all")
async def others_refused(target: Target) -> None:
    user = User(target)
    token = await signs(user, {"a": 1})
    for algorithm in ("none", "None", "", "hs256", "RS512", "ES256"):
        await user.refused("jwtSign", 400, key=SECRET, payload={}, algorithm=algorithm)
        await refuses(user, 400, token, ["HS256", algorithm])
    for alg in ("none", "None", "NONE", "nOnE", "", " none", "HS256 ", "hs256"):
        for sign in ("", token.rpartition(".")[2]):
            await refuses(user, 401, f"{encode({'alg': alg})}.{encode({'a': 1})}.{sign}", ALGORITHMS)


@check("USR-JWT-8", "nothing is added to header and payload")
async def nothing_added(target: Target) -> None:
    user = User(target)
    header, payload, _ = decode(await signs(user, {"sub": "ann"}))
    user.same("header", header, {"alg": "HS256", "typ": "JWT"})
    user.same("payload", payload, {"sub": "ann"})
    _, payload, _ = decode(await signs(user, {}))
    user.same("an empty payload", payload, {})


@check("USR-JWT-9", "whole numbers are integers in the token, also where they come as 2.0")
async def whole_numbers(target: Target) -> None:
    user = User(target)
    given = {"exp": float(FUTURE), "list": [2.0, {"n": -3.0}], "half": 0.5, "large": 2**53, "beyond": 1e300}
    token = await signs(user, given)
    wanted = {"exp": FUTURE, "list": [2, {"n": -3}], "half": 0.5, "large": 2**53, "beyond": 1e300}
    user.same("payload in the token", decode(token)[1], wanted)
    user.same("payload as verified", await verifies(user, token), wanted)
    user.same("payload of another", await verifies(user, mint(given)), wanted)


@check("USR-JWT-10", "keys that sign, and those that do not")
async def signing_keys(target: Target) -> None:
    user = User(target)
    for algorithm in HASHES:
        token = await signs(user, {"a": 1}, algorithm, "s")
        user.same("payload by a short secret", await verifies(user, token, algorithm, "s"), {"a": 1})
        await user.refused("jwtSign", 400, key="", payload={}, algorithm=algorithm)
    for form in (PKCS1, PKCS8):
        token = await signs(user, {"a": 1}, "RS256", private(form))
        user.same("payload by an RSA key", await verifies(user, token, "RS256"), {"a": 1})
    short = rsa.generate_private_key(65537, 1024).private_bytes(PEM, PKCS8, serialization.NoEncryption())
    for key in ("", SECRET, public(), private()[:200], short.decode()):
        await user.refused("jwtSign", 400, key=key, payload={}, algorithm="RS256")


@check("USR-JWT-11", "RSA keys of 2048 to 8192 bits may verify")
async def sizes_of_keys(target: Target) -> None:
    user = User(target)
    token = mint({"a": 1}, algorithm="RS256")
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    for bits, taken in (
        (2047, False),
        (2048, True),
        (3072, True),
        (8192, True),
        (8193, False),
        (9000, False),
    ):
        key = rsa.RSAPublicNumbers(65537, 2**bits - 1).public_key().public_bytes(PEM, form).decode()
        # the token has another signature: an accepted key is refused for that instead
        reason = await refuses(user, 401 if taken else 400, token, ["RS256"], key)
        named = str(bits) in reason
        expect.equal(f"does the error name {bits} bits?", named, not taken, user.last)


@check("USR-JWT-11", "keys that verify RS256, and those that do not")
async def verifying_keys(target: Target) -> None:
    user = User(target)
    token = mint({"a": 1}, algorithm="RS256")
    for key in (public(), public(serialization.PublicFormat.PKCS1), certificate()):
        user.same("payload", await verifies(user, token, "RS256", key), {"a": 1})
    for key in ("", SECRET, private(), public()[:200], certificate()[:200]):
        await refuses(user, 400, token, ["RS256"], key)


@check("USR-JWT-12", "a token that is signed with a public key as secret is refused, whatever is allowed")
async def key_confusion(target: Target) -> None:
    user = User(target)
    numbers = public(serialization.PublicFormat.PKCS1)
    older = certificate().replace("CERTIFICATE", "X509 CERTIFICATE")
    in_lines = (public().rstrip(), public().replace("\n", "\r\n"), public().replace("\n", ""))
    in_text = (f"\n {public()}", f"of the server:\n{public()}", '{"kty": "RSA", "e": "AQAB", "n": "AAAA"}')
    for key in (public(), numbers, certificate(), older, private(), private(PKCS1), *in_lines, *in_text):
        for algorithm in HASHES:
            token = mint({"sub": "eve"}, algorithm=algorithm, key=key)
            for algorithms in (ALGORITHMS, [algorithm], [algorithm, "RS256"]):
                await refuses(user, 400, token, algorithms, key)


@check("USR-JWT-13", "a malformed token is 400")
async def malformed(target: Target) -> None:
    user = User(target)
    header, payload, sign = mint({"a": 1}).split(".")
    for token in (
        "",
        "token",
        f"{header}.{payload}",
        f"{header}.{payload}.{sign}.{sign}",
        f"!{header}.{payload}.{sign}",
        f"{encode('alg: HS256')}.{payload}.{sign}",
        mint({"a": 1}, {"typ": "JWT"}),
        mint({"a": 1}, {"alg": "HS256", "crit": ["bob"], "bob": 1}),
        mint("a=1"),
        mint([1]),
        mint('{"exp": 1, "exp": 4102444800}'),
        mint('{"a": [{"b": 1, "b": 1}]}'),
        "a" * 300_000,
        "." * 10_000,
        "..",
        f" {header}.{payload}.{sign}",
        f"{header}.{payload}.{sign}\n",
        f"{header}.\n{payload}.{sign}",
        f"{header}.{payload}.{sign[:-2]}+/",
        f"{header}.{payload}.é",
        f"{header}.{payload}.{sign[:-1]}{chr(ord(sign[-1]) + 1)}",  # set bits behind the end
        f"{encode(['HS256'])}.{payload}.{sign}",
        f"{base64url(bytes(range(128, 140)))}.{payload}.",
        f"{encode('[' * 100_000)}.{payload}.",
        *(mint({}, {"alg": alg}) for alg in (None, ["HS256"])),
        *(mint({}, {"alg": "HS256", "crit": crit, "exp": 1}) for crit in (["exp"], [], "exp")),
        mint({}, {"alg": "HS256", "b64": False, "crit": ["b64"]}),
        mint({}, {"alg": "HS256", "kid": {"a": 1}}),
        *(mint(text) for text in ("", "null", '"ann"', '{"a": NaN}', '{"exp": Infinity}', '{"exp": 1e999}')),
        mint(f'{{"exp": 1{"0" * 10_000}}}'),
        mint("[" * 100_000),
    ):
        await refuses(user, 400, token, ALGORITHMS)


@check("USR-JWT-13", "payloads are nested 100 deep at most, by tables and by lists")
async def depth(target: Target) -> None:
    user = User(target)
    for opening, closing, outer in (('{"a":', "}", 0), ("[", "]", 1)):
        for count, status in ((99, 0), (101, 400), (150, 400)):
            inner = f"{opening * (count - outer)}1{closing * (count - outer)}"
            token = mint(f'{{"x":{inner}}}' if outer else inner)
            if status:
                await refuses(user, status, token)
            else:
                await verifies(user, token)


@check("USR-JWT-14", "a token of the past has expired, one of the future is not valid yet")
async def times(target: Target) -> None:
    user = User(target)
    fine = {"nbf": PAST, "exp": FUTURE}
    user.same("payload", await verifies(user, mint(fine)), fine)
    for odd in ({"exp": FUTURE + 0.5}, {"exp": 10**40, "nbf": -(10**40)}):
        await verifies(user, mint(odd))
    expect.true("it says so", "expired" in (reason := await refuses(user, 401, mint({"exp": PAST}))), reason)
    expect.true(
        "it says so", "not valid yet" in (reason := await refuses(user, 401, mint({"nbf": FUTURE}))), reason
    )
    wrong: list[object] = [str(FUTURE), "soon", True, None, []]
    for claim in ("exp", "nbf"):
        for value in wrong:
            await refuses(user, 400, mint({claim: value}))


async def _whole_second(target: Target) -> int:
    clock = GameClock(target)
    await clock.begin()
    return int(clock.now)


@check("USR-JWT-14", "exp and nbf are judged to the second, on the lab's clock", needs={"clock"})
async def to_the_second(target: Target) -> None:
    user, now = User(target), await _whole_second(target)
    token, other = mint({"exp": now + 60}), mint({"nbf": now + 60})
    await target.advance(59)
    await verifies(user, token)
    await target.advance(0.5)
    await verifies(user, token)
    await refuses(user, 401, other)
    await target.advance(0.5)
    await refuses(user, 401, token)
    await verifies(user, other)
    await target.advance(1)
    await refuses(user, 401, token)
    await verifies(user, other)


@check("USR-JWT-14", "exp and nbf of fractions of a second", needs={"clock"})
async def to_the_fraction(target: Target) -> None:
    user, now = User(target), await _whole_second(target)
    token, other = mint({"exp": now + 1.5}), mint({"nbf": now + 1.5})
    for step, alive in ((0.75, True), (0.5, True), (0.25, False), (0.25, False), (0.5, False)):
        await target.advance(step)
        await (verifies(user, token) if alive else refuses(user, 401, token))
        await (refuses(user, 401, other) if alive else verifies(user, other))


@check("USR-JWT-15", "aud, iss, iat and other claims are not verified")
async def other_claims(target: Target) -> None:
    user = User(target)
    payload = {"aud": "someone else", "iss": 7, "iat": FUTURE, "sub": 5, "jti": {"a": 1}}
    user.same("payload", await verifies(user, mint(payload)), payload)


@check("USR-JWT-16", "an algorithm must be allowed")
async def algorithms(target: Target) -> None:
    user = User(target)
    token = mint({"a": 1})
    none: list[object] = [[], {}, "", 7]
    for nothing in none:
        await refuses(user, 400, token, nothing)
    await user.refused("jwtVerify", 400, key=SECRET, token=token)
    found = await user.table("jwtVerify", key=SECRET, token=token, algorithms="HS256")
    user.same("payload", found, {"a": 1})


@check("USR-JWT-17", "the journal has neither key, payload nor token", needs={"journal"})
async def secrecy(target: Target) -> None:
    user, signed = User(target), f"{target.identity()} pays"
    key, other = f"{SECRET} {target.identity()}", hashlib.sha256(target.identity().encode()).hexdigest()
    token = await signs(user, {"a": signed}, key=key)
    await verifies(user, token, key=key)
    await refuses(user, 401, token, key=other)
    await user.refused("jwtVerify", 401, key={"base64": other}, token=token, algorithms=["HS256"])
    await refuses(user, 400, f"{token}.{other}", key=other)
    written = await target.journaled_calls("User.jwtVerify") + await target.journaled_calls("User.jwtSign")
    expect.true("the calls are there", "algorithms" in written and "payload" in written, "nothing")
    for secret in (key, signed, token, token.rpartition(".")[2], other):
        expect.true("the journal has no secret", secret not in written, "a secret")


@check("USR-JWT-18", "keys of bytes, and tables that are none")
async def keys_of_bytes(target: Target) -> None:
    user, key = User(target), bytes([0, 251, 255, 254, *range(128, 188)])
    signed = f"{encode({'alg': 'HS256'})}.{encode({'a': 1})}"
    token = f"{signed}.{base64url(hmac.new(key, signed.encode(), 'sha256').digest())}"
    standard, url_safe = base64.b64encode(key).decode(), base64url(key)
    for text in (standard, standard.rstrip("="), url_safe, base64.urlsafe_b64encode(key).decode()):
        given = {"base64": text}
        result = await user.table("jwtVerify", key=given, token=token, algorithms=["HS256"])
        user.same("payload", result, {"a": 1})
        made_here = await user.table("jwtSign", key=given, payload={"a": 1}, algorithm="HS256")
        result = await user.table("jwtVerify", key=given, token=made_here["token"], algorithms=["HS256"])
        user.same("payload of its own token", result, {"a": 1})
    await user.refused("jwtVerify", 401, key=standard, token=token, algorithms=["HS256"])
    pem = {"base64": base64.b64encode(private().encode()).decode()}
    made_here = await user.table("jwtSign", key=pem, payload={"a": 1}, algorithm="RS256")
    user.same("payload by a PEM", await verifies(user, made_here["token"], "RS256"), {"a": 1})
    texts = ("", "a", "====", "a b=", "éééé", 7)
    for wrong in (
        pem,
        {},
        {"hex": "00"},
        {"base64": url_safe, "hex": "00"},
        *({"base64": each} for each in texts),
    ):
        await user.refused("jwtSign", 400, key=wrong, payload={}, algorithm="HS256")
