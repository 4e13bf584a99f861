"""Settings of the messaging provider: invalid ones are refused by name, and no token is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import SettingsError
from labkit.settings import LabSettings, build, load
from tests.cases import cases

AC, IS, CR, MG = (f"{each}{'0aF1' * 8}" for each in ("AC", "IS", "CR", "MG"))
OTHER = "AC" + "2" * 32
TOKEN = "s3cret"


def settings(**account: Any) -> LabSettings:
    accounts = [{"sid": AC, "token": TOKEN, **account}]
    return build(LabSettings, {"providers": {"messaging": {"accounts": accounts}}}, "")


def test_all_settings_of_an_account() -> None:
    service = {"sid": IS, "messaging_service": MG, "credentials": {"apn": CR, "fcm": None}}
    [account] = settings(services=[service]).providers.messaging.accounts
    assert (account.sid, account.token.get_secret_value()) == (AC, TOKEN)
    assert account.services[0].model_dump() == {
        **service,
        "credentials": {"apn": CR, "fcm": None, "gcm": None},
    }
    assert TOKEN not in f"{account!r} {account}"


@cases(
    ("account", "expected"),
    [
        ({"name": "x"}, "name: unknown key"),
        ({"sid": "AC12"}, "sid: expected AC and 32 hex digits, not 'AC12'"),
        ({"sid": IS}, "sid: expected AC and 32 hex digits"),
        ({"sid": AC + "\n"}, "sid: expected AC and 32 hex digits"),
        ({"token": ""}, "token: expected 1 to 200 visible ASCII characters"),
        ({"token": "very s3cret"}, "token: expected 1 to 200 visible ASCII characters"),
        ({"token": "s3cret" * 40}, "token: expected 1 to 200 visible ASCII characters"),
        ({"token": ["s3cret"]}, "token: expected"),
        ({"services": [{}]}, "services[0].sid: is required"),
        ({"services": [{"sid": AC}]}, "services[0].sid: expected IS and 32 hex digits"),
        ({"services": [{"sid": IS, "colour": 1}]}, "services[0].colour: unknown key"),
        (
            {"services": [{"sid": IS, "messaging_service": CR}]},
            "services[0].messaging_service: expected MG and",
        ),
        ({"services": [{"sid": IS, "credentials": {"sms": CR}}]}, "services[0].credentials.sms: unknown key"),
        (
            {"services": [{"sid": IS, "credentials": {"apn": "x"}}]},
            "services[0].credentials.apn: expected CR",
        ),
    ],
)
def test_an_invalid_setting_is_refused_by_name(account: dict[str, Any], expected: str) -> None:
    with pytest.raises(SettingsError) as raised:
        settings(**account)
    assert str(raised.value).startswith(f"providers.messaging.accounts[0].{expected}")
    assert "s3cret" not in str(raised.value)


@cases(
    "accounts",
    [
        [{"sid": AC, "token": "a"}, {"sid": AC, "token": "b"}],
        [{"sid": AC, "token": "a", "services": [{"sid": IS}, {"sid": IS}]}],
        [
            {"sid": AC, "token": "a", "services": [{"sid": IS}]},
            {"sid": OTHER, "token": "b", "services": [{"sid": IS}]},
        ],
    ],
)
def test_sids_differ(accounts: list[dict[str, Any]]) -> None:
    with pytest.raises(SettingsError, match=r"^providers\.messaging\.accounts: expected sids that differ"):
        build(LabSettings, {"providers": {"messaging": {"accounts": accounts}}}, "")


@pytest.mark.parametrize(
    ("outside", "expected"),
    [
        ("ftp://x", "an http or https URL"),
        ("https://x/#y", "without a fragment"),
        ("https://]x", "an http or https URL"),
        ("https://[::z]", "an http or https URL"),
        ("https://[1:2]/", "does not appear to be an IPv4 or IPv6 address"),
        ("https://x:65536", "Port out of range"),
        ("https://\u2100/", "invalid characters under NFKC"),
    ],
)
def test_the_external_provider_is_a_url(outside: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=rf"^providers\.messaging\.outside: .*{expected}"):
        build(LabSettings, {"providers": {"messaging": {"outside": outside}}}, "")


def test_an_error_in_a_file_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(f"providers:\n  messaging:\n    accounts:\n      - sid: {AC}\n        tokens: x\n")
    with pytest.raises(SettingsError, match=r"accounts\[0\]\.token: is required \(line 4\)"):
        load(file)
