import os
import ssl
import stat
from pathlib import Path

import pytest

from labkit.core.errors import SettingsError
from labkit.edge.certificates import Authority


def shake_hands(authority: Authority, names: list[str], wanted: str, folder: Path) -> None:
    """A TLS handshake in memory, verified as strictly as Python can."""
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
    for side in (client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("name", ["lab.localhost", "thermostat.m2.lab.localhost", "127.0.0.1", "::1"])
def test_clients_that_trust_the_authority_accept_its_names(name: str, tmp_path: Path) -> None:
    names = ["lab.localhost", "*.m2.lab.localhost", "127.0.0.1", "::1"]
    shake_hands(Authority.create(), names, name, tmp_path)


@pytest.mark.parametrize("name", ["other.localhost", "a.b.m2.lab.localhost"])
def test_and_no_others(name: str, tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(Authority.create(), ["lab.localhost", "*.m2.lab.localhost"], name, tmp_path)


def test_each_lab_has_an_authority_of_its_own(tmp_path: Path) -> None:
    one, other = Authority.create(), Authority.create()
    mixed = Authority(one.pair)
    mixed.ca_pem = other.ca_pem
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(mixed, ["lab.localhost"], "lab.localhost", tmp_path)


def test_a_folder_keeps_its_authority(tmp_path: Path) -> None:
    made = Authority.load(tmp_path / "data")
    again = Authority.load(tmp_path / "data")
    assert again.ca_pem == made.ca_pem
    shake_hands(again, ["lab.localhost"], "lab.localhost", tmp_path)


def test_the_key_is_for_its_owner_only(tmp_path: Path) -> None:
    Authority.load(tmp_path)
    assert stat.S_IMODE((tmp_path / "ca.key").stat().st_mode) == 0o600
    assert b"PRIVATE" not in (tmp_path / "ca.pem").read_bytes()


@pytest.mark.parametrize("missing", ["ca.pem", "ca.key"])
def test_half_an_authority_is_an_error_that_names_the_folder(missing: str, tmp_path: Path) -> None:
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


def test_write_ca_leaves_a_file_to_trust(tmp_path: Path) -> None:
    authority = Authority.create()
    authority.write_ca(tmp_path / "trust.pem")
    assert (tmp_path / "trust.pem").read_bytes() == authority.ca_pem


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_the_folder_of_an_authority_is_its_owners_alone(tmp_path: Path) -> None:
    Authority.load(tmp_path / "tls")
    assert stat.S_IMODE((tmp_path / "tls").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "tls" / "ca.key").stat().st_mode) == 0o600
