"""JSON web tokens: numbers, keys and tokens of every size, and keys of unsupported types."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.jwts import decode
from labkit.conformance.target import Target
from labkit.conformance.user.jwt.checks import PEM, PKCS8, SECRET, mint, pair, refuses, signs, verifies
from labkit.conformance.users import User

LONGEST_KEY, LONGEST_TOKEN = 8192, 262_144  # characters


@check("USR-JWT-9", "numbers of every size keep their value, and those beyond 2^53 are no integers")
async def sizes_of_numbers(target: Target) -> None:
    user = User(target)
    whole = [0, 1, -1, 2**31, -(2**53), 2**53 - 1, 2**53]
    floats = [float(2**53 + 2), -float(2**53 + 2), 1e17, 1e300, 0.1, -1.5e-300]
    token = await signs(user, {"whole": [float(each) for each in whole], "floats": floats})
    found = decode(token)[1]
    user.same("whole numbers in the token", found["whole"], whole)
    user.same("others in the token", found["floats"], floats)
    taken = await verifies(user, mint({"whole": whole, "floats": floats}))
    expect.equal("what is verified", [*taken["whole"], *taken["floats"]], [*whole, *floats], user.last)


@check("USR-JWT-19", "keys, payloads and tokens to their bounds")
async def bounds(target: Target) -> None:
    user = User(target)
    longest, bytes_of = "k" * LONGEST_KEY, base64.b64encode(b"k" * 6144).decode()
    for key in (longest, {"base64": bytes_of}):
        signed_by = await user.table("jwtSign", key=key, payload={"a": 1}, algorithm="HS256")
        taken = await user.table("jwtVerify", key=key, token=signed_by["token"], algorithms=["HS256"])
        user.same("payload", taken, {"a": 1})
    for wrong in (f"{longest}k", {"base64": f"{bytes_of}AAAA"}):
        await user.refused("jwtSign", 400, key=wrong, payload={}, algorithm="HS256")
        await user.refused("jwtVerify", 400, key=wrong, token=mint({}), algorithms=["HS256"])
    header = {"alg": "HS256", "typ": "JWT"}
    spare = LONGEST_TOKEN - len(mint({"a": ""}, header))
    fits = "x" * (spare * 3 // 4 - 2)
    token = await signs(user, {"a": fits}, key=SECRET)
    expect.true(
        "the token has almost as many as there may be",
        LONGEST_TOKEN - 8 <= len(token) <= LONGEST_TOKEN,
        len(token),
    )
    user.same("payload", await verifies(user, token), {"a": fits})
    for more in ("x" * 12, "x" * LONGEST_TOKEN):
        await user.refused("jwtSign", 400, key=SECRET, payload={"a": fits + more}, algorithm="HS256")
        await refuses(user, 400, mint({"a": fits + more}, header))


@check("USR-JWT-10 USR-JWT-11", "keys of other kinds sign and verify nothing")
async def other_kinds(target: Target) -> None:
    user = User(target)
    elliptic = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    secret = elliptic.private_bytes(PEM, PKCS8, serialization.NoEncryption()).decode()
    shown = elliptic.public_key().public_bytes(PEM, form).decode()
    for key in (secret, shown):
        await user.refused("jwtSign", 400, key=key, payload={}, algorithm="RS256")
        await refuses(user, 400, mint({}, algorithm="RS256"), ["RS256"], key)
    form_of_ssh = serialization.PublicFormat.OpenSSH
    ssh = pair().public_key().public_bytes(serialization.Encoding.OpenSSH, form_of_ssh).decode()
    await user.refused("jwtSign", 400, key=ssh, payload={}, algorithm="HS256")
    await refuses(user, 400, mint({}), ["HS256"], ssh)
