"""URLs of providers outside of a lab, and files with more than one document."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from labkit.core.errors import SettingsError
from labkit.settings import Outside, build
from tests.cases import cases
from tests.settings.lab_yaml import refused


@cases(
    ("host", "is_right"),
    [
        *(
            (each, True)
            for each in ("idp.example.com", "b\u00fccher.example", "a_b.de", "[::1]:8443", "10.0.0.1")
        ),
        *(
            (each, False)
            for each in ("a..b", "a" * 64 + ".de", ".".join(["a" * 60] * 5), "x\u202ey.de", "a.de:99999")
        ),
    ],
)
def test_an_outside_provider_has_a_host_name_that_dns_can_have(host: str, is_right: bool) -> None:
    url = f"https://{host}/a"
    with nullcontext() if is_right else pytest.raises(SettingsError, match=r"authorize: expected a"):
        build(Outside, {"authorize": url, "token": url, "userinfo": url})


def test_a_second_document_is_told(folder: Path) -> None:
    expected = "lab.yaml: has more than one document: expected nothing after this '---' (line 2)"
    assert refused(folder, "seed: 1\n---\nb: 2\n").endswith(expected)
