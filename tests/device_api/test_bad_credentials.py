"""Invalid credentials and certificates: refused without any change of state."""

from __future__ import annotations

import ssl

from cryptography.hazmat.primitives.serialization import Encoding

from tests.cases import case
from tests.device_api.rig import (
    ACTIVATE,
    ALIAS,
    DOWNLOAD,
    FORM,
    PASSWORD,
    RECORD,
    DeviceRig,
    Headers,
    basic,
    check_refusal,
    pair,
)

POLL = f"{ALIAS}?text"
PEM = ("Content-Type", "application/x-pem-file; charset=utf-8")
WRONG_TYPE = ("Content-Type", "application/json")

# --- certificates -------------------------------------------------------------------------------------------


def version_9(identity: str) -> bytes:
    """Return a certificate that is valid except for its version."""
    der = pair(identity).certificate.public_bytes(Encoding.DER)
    wrong = der.replace(bytes.fromhex("a003020102"), bytes.fromhex("a003020109"))
    assert wrong != der
    return ssl.DER_cert_to_PEM_cert(wrong).encode()


PEMS = {
    "no PEM": (b"certificate", 400),
    "nothing": (b"", 400),
    "a key": (pair("d").key_pem, 400),
    "PEM of nothing": (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 400),
    "a certificate of no known version": (version_9("d"), 400),
    "another CN": (pair("e").certificate_pem, 400),
    "no CN": (pair(None).certificate_pem, 400),
    "over 64 KiB": (pair("d").certificate_pem * 200, 413),
}


async def test_an_invalid_certificate_replaces_nothing(rig: DeviceRig) -> None:
    await rig.device("certificate")
    own = rig.pairs["d"]
    before = await rig.kept()
    for about, (body, status) in PEMS.items():
        client = await rig.connect("certificate", own)
        with case(about):
            answer = await client.ask("POST", ACTIVATE, body, headers=[PEM], form=False)
            assert answer.status == status
            check_refusal(answer)
            assert await rig.kept() == before
            if status == 400:
                assert (await client.ask("GET", DOWNLOAD)).status == 200


async def test_a_certificate_with_a_wrong_content_type_is_refused(rig: DeviceRig) -> None:
    client = await rig.device("certificate")
    before = await rig.kept()
    for type in (FORM, WRONG_TYPE, ("Content-Type", "application/x-pem-file; charset=latin-1")):
        answer = await client.ask("POST", ACTIVATE, pair("d").certificate_pem, headers=[type], form=False)
        assert answer.status == 415
        check_refusal(answer)
    assert await rig.kept() == before


# --- credentials: test_authenticate has the valid ones ------------------------------------------------------


BAD: list[tuple[str, str, Headers, int]] = [
    ("missing", "token", [], 401),
    ("empty", "token", [("X-Platform-CIK", "")], 401),
    ("wrong", "token", [("X-Platform-CIK", "0" * 40)], 401),
    ("not UTF-8", "token", [("X-Platform-CIK", "\udcff" * 40)], 401),
    ("wrong, in Authorization", "token", [("Authorization", f"token {'0' * 40}")], 401),
    ("of another type", "token", [basic("d", PASSWORD)], 401),
    ("an unknown scheme", "token", [("Authorization", "Digest username=d")], 401),
    ("nothing behind the scheme", "token", [("Authorization", "token")], 401),
    ("missing", "password", [], 401),
    ("wrong", "password", [basic("d", PASSWORD + "x")], 401),
    ("of nobody", "password", [basic("nobody", PASSWORD)], 401),
    ("no Base64", "password", [("Authorization", "Basic *")], 401),
    ("Base64 of no UTF-8", "password", [("Authorization", "Basic /w==")], 401),
    ("not ASCII", "password", [("Authorization", "Basic \udcff\udcff\udcff=")], 401),
    ("no colon", "password", [("Authorization", "Basic ZA==")], 401),
    ("two: header twice", "token", [("X-Platform-CIK", "0" * 40), ("X-Platform-CIK", "0" * 40)], 400),
    ("two: two headers", "token", [("X-Platform-CIK", "0" * 40), basic("d", PASSWORD)], 400),
    ("two: Authorization twice", "password", [basic("d", PASSWORD), basic("d", PASSWORD)], 400),
]


async def test_invalid_credentials_are_refused(rig: DeviceRig) -> None:
    for product in ("token", "password"):
        await rig.device(product)
    before = await rig.kept()
    for about, product, headers, status in BAD:
        client = await rig.connect(product)
        for method, path, body in (
            ("POST", ALIAS, "text=x"),
            ("GET", POLL, None),
            ("POST", POLL, "text=x"),
            ("POST", RECORD, "alias=text&1=x"),
            ("GET", DOWNLOAD, None),
        ):
            with case(f"{product}: {about}: {method} {path}"):
                answer = await client.ask(method, path, body, headers=headers)
                assert answer.status == status
                check_refusal(answer)
                assert (answer.header("WWW-Authenticate") is not None) == (status == 401)
        assert await rig.kept() == before, about
