import os
import ssl
import stat
from pathlib import Path

import pytest

from labkit.core.certificates import KeyPair, authority
from labkit.core.errors import SettingsError
from labkit.edge.certificates import Authority, certificates
from labkit.serve import has_root
from labkit.settings import TlsSettings
from tests.edge.rig import EdgeRig, get


def shake_hands(authority: Authority, names: list[str], wanted: str, folder: Path) -> None:
    """Run a TLS handshake in memory, verified as strictly as Python can."""
    certificate, key = authority.leaf(names)
    both = folder / "leaf.pem"
    both.write_bytes(certificate + key)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(both)
    client_context = ssl.create_default_context(cadata=authority.ca_pem.decode())
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(down, up, server_hostname=wanted)
    server = server_context.wrap_bio(up, down, server_side=True)
    for end in (client, server, client):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("name", ["lab.localhost", "thermostat.m2.lab.localhost", "127.0.0.1", "::1"])
def test_clients_that_trust_the_authority_accept_its_names(name: str, tmp_path: Path) -> None:
    names = ["lab.localhost", "*.m2.lab.localhost", "127.0.0.1", "::1"]
    shake_hands(Authority.create(), names, name, tmp_path)


@pytest.mark.parametrize("name", ["other.localhost", "a.b.m2.lab.localhost"])
def test_clients_accept_no_other_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(Authority.create(), ["lab.localhost", "*.m2.lab.localhost"], name, tmp_path)


def test_each_lab_has_its_own_authority(tmp_path: Path) -> None:
    one, other = Authority.create(), Authority.create()
    mixed = Authority(one.pair)
    mixed.ca_pem = other.ca_pem
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(mixed, ["lab.localhost"], "lab.localhost", tmp_path)


def test_an_authority_in_a_folder_is_reused(tmp_path: Path) -> None:
    made = Authority.load(tmp_path / "data")
    again = Authority.load(tmp_path / "data")
    assert again.ca_pem == made.ca_pem
    shake_hands(again, ["lab.localhost"], "lab.localhost", tmp_path)


def test_only_the_owner_can_read_the_key(tmp_path: Path) -> None:
    Authority.load(tmp_path)
    assert stat.S_IMODE((tmp_path / "ca.key").stat().st_mode) == 0o600
    assert b"PRIVATE" not in (tmp_path / "ca.pem").read_bytes()


@pytest.mark.parametrize("missing", ["ca.pem", "ca.key"])
def test_an_incomplete_authority_is_an_error_with_the_folder(missing: str, tmp_path: Path) -> None:
    Authority.load(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(SettingsError, match="belong together") as caught:
        Authority.load(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_broken_file_is_an_error(tmp_path: Path) -> None:
    Authority.load(tmp_path)
    (tmp_path / "ca.key").write_bytes(b"nonsense")
    with pytest.raises(SettingsError, match="cannot be used"):
        Authority.load(tmp_path)


def test_authorities_of_both_kinds_are_kept_side_by_side(tmp_path: Path) -> None:
    made = certificates(TlsSettings(key="both"), tmp_path)
    assert certificates(TlsSettings(key="both"), tmp_path).ca_pem == made.ca_pem
    ec, rsa = Authority.load(tmp_path, "ec"), Authority.load(tmp_path, "rsa")
    assert made.ca_pem == ec.ca_pem + rsa.ca_pem
    assert certificates(TlsSettings(key="rsa"), tmp_path).ca_pem == rsa.ca_pem
    for each in (ec, rsa):
        shake_hands(each, ["lab.localhost"], "lab.localhost", tmp_path)


def custom_certificate(folder: Path, *, together: bool) -> TlsSettings:
    """Write a custom certificate, followed by the certificate of its authority."""
    authority = Authority.create("rsa")
    certificate, key = authority.leaf(["lab.example"])
    chain = certificate + authority.ca_pem
    (folder / "own.pem").write_bytes(key + chain if together else chain)
    (folder / "own.key").write_bytes(key)
    return TlsSettings(certificate=folder / "own.pem", private_key=None if together else folder / "own.key")


@pytest.mark.parametrize("together", [True, False])
def test_a_custom_certificate_is_sent_with_its_chain_and_its_key_is_never_shown(
    tmp_path: Path, together: bool
) -> None:
    found = certificates(custom_certificate(tmp_path, together=together), tmp_path / "tls")
    ((chain, key),) = found.leaves(["other.example"])
    assert chain.count(b"BEGIN CERTIFICATE") == 2
    assert b"PRIVATE KEY" in key
    assert b"PRIVATE" not in found.ca_pem
    assert not (tmp_path / "tls").exists()


@pytest.mark.parametrize("engine", ["ssl", "pyopenssl"])
async def test_the_edge_serves_with_a_custom_certificate(tmp_path: Path, engine: str) -> None:
    rig = EdgeRig()
    rig.hosts = ["lab.example"]
    rig.client_certificates = engine == "pyopenssl"
    rig.authority = certificates(custom_certificate(tmp_path, together=True), None)
    try:
        client = await rig.connect("lab.example")
        assert (await client.answer(get(host="lab.example")))[0] == 200
    finally:
        await rig.close()


def test_an_error_in_a_custom_certificate_is_reported(tmp_path: Path) -> None:
    settings = custom_certificate(tmp_path, together=False)
    (tmp_path / "own.key").write_bytes(Authority.create().pair.key_pem)
    with pytest.raises(
        SettingsError, match=r"tls.certificate: .*own.pem with .*own.key cannot be used: [a-z ]+$"
    ):
        certificates(settings, None)
    (tmp_path / "own.pem").write_text("nonsense")
    with pytest.raises(SettingsError, match=r"tls.certificate: .*cannot be used"):
        certificates(settings, None)
    with pytest.raises(SettingsError, match=r"tls.certificate: .*cannot be used: no such file"):
        certificates(TlsSettings(certificate=tmp_path / "none.pem"), None)
    with pytest.raises(SettingsError, match=r"tls.certificate: .*cannot be used: .*null"):
        certificates(TlsSettings(certificate=tmp_path / "own\0.pem"), None)


def test_write_ca_writes_the_authoritys_certificate(tmp_path: Path) -> None:
    authority = Authority.create()
    authority.write_ca(tmp_path / "trust.pem")
    assert (tmp_path / "trust.pem").read_bytes() == authority.ca_pem


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_the_folder_of_an_authority_is_private_to_its_owner(tmp_path: Path) -> None:
    Authority.load(tmp_path / "tls")
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "tls" / "ca.key").stat().st_mode) == 0o600


def test_a_chain_with_its_root_can_be_trusted_and_a_leaf_alone_cannot(tmp_path: Path) -> None:
    chain = certificates(custom_certificate(tmp_path, together=True), None).ca_pem.decode()
    leaf = chain.partition("-----END CERTIFICATE-----\n")[0] + "-----END CERTIFICATE-----\n"
    assert (has_root(chain), has_root(leaf)) == (True, False)


def stored(folder: Path, name: str) -> KeyPair:
    """Store an authority of ten years, as earlier versions did."""
    pair = authority(name)
    (folder / "ca.pem").write_bytes(pair.certificate_pem)
    (folder / "ca.key").write_bytes(pair.key_pem)
    return pair


def test_an_authority_of_an_earlier_version_is_renewed_and_stays_trusted(tmp_path: Path) -> None:
    before = stored(tmp_path, "labkit authority")
    made = Authority.load(tmp_path)
    assert made.pair.certificate.not_valid_after_utc.year == 9999
    assert (tmp_path / "ca.pem").read_bytes() == made.ca_pem
    shake_hands(made, ["lab.localhost"], "lab.localhost", tmp_path)
    made.ca_pem = before.certificate_pem  # what a client has stored
    shake_hands(made, ["lab.localhost"], "lab.localhost", tmp_path)


def test_an_authority_of_the_users_own_stays(tmp_path: Path) -> None:
    before = stored(tmp_path, "our own authority")
    assert Authority.load(tmp_path).ca_pem == before.certificate_pem
