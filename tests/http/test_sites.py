"""The table of sites by host name."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.core.errors import SettingsError
from labkit.http.sites import HostTable, Site, SiteExchange
from labkit.platform import Platform
from labkit.providers.social.providers import SocialProviders
from labkit.settings import ProductSettings, SocialSettings, SolutionSettings
from tests.cases import cases
from tests.context import make_context


def test_a_site_is_found_only_by_its_name() -> None:
    table, context = HostTable("lab.localhost"), make_context()
    one = Site[SiteExchange]("one.m2.lab.localhost", "product 'one'", "one", context)
    other = Site[SiteExchange]("shop.example", "solution 'shop'", "shop", context)
    table.add(one)
    table.add(other)
    assert (table.find("one.m2.lab.localhost"), table.find("shop.example")) == (one, other)
    assert table.find("m2.lab.localhost") is None
    assert list(table) == [one, other]
    table.remove("shop.example")
    assert not table.serves("shop.example")


def test_the_certificate_has_the_names_without_a_wildcard() -> None:
    table, context = HostTable("lab.localhost"), make_context()
    for host in ("one.m2.lab.localhost", "shop.example", "a.b.apps.lab.localhost", "lab.localhost"):
        table.add(Site[SiteExchange](host, "test", "test", context))
    assert table.certificate_names() == [
        "*.m2.lab.localhost",
        "*.apps.lab.localhost",
        "*.social.lab.localhost",
        "a.b.apps.lab.localhost",
        "lab.localhost",
        "shop.example",
    ]


NAMES: dict[str, dict[str, Any]] = {
    "product": {"id": "acme", "domain": "acme.apps.lab.localhost"},
    "solution": {"id": "acme"},
    "solution of that name": {"id": "shop", "domain": "acme.apps.lab.localhost"},
}


@cases(
    ("first", "second"),
    [
        ("product", "solution"),
        ("solution", "product"),
        ("product", "solution of that name"),
        ("solution", "solution of that name"),
    ],
)
async def test_no_site_can_use_the_name_of_another(first: str, second: str) -> None:
    async with Platform() as platform:

        async def add(kind: str) -> None:
            if kind == "product":
                await platform.add_product(ProductSettings(**NAMES[kind]))
            else:
                await platform.solutions.add(SolutionSettings(**NAMES[kind]))

        await add(first)
        holder = platform.context.hosts.find("acme.apps.lab.localhost")
        with pytest.raises(SettingsError, match=r"domain acme\.apps\.lab\.localhost is taken by \w+ 'acme'"):
            await add(second)
        assert platform.context.hosts.find("acme.apps.lab.localhost") is holder
        things = (*platform.devices.products, *platform.solutions)
        assert len(things) == 1  # the refused site left nothing behind
        await platform.add_product(ProductSettings(id="other"))


async def test_no_site_can_use_the_name_of_a_provider() -> None:
    async with Platform() as platform:
        with pytest.raises(SettingsError, match="is taken by provider 'google'"):
            await platform.add_product(ProductSettings(id="p", domain="google.social.lab.localhost"))
        await platform.add_product(ProductSettings(id="p", domain="new.social.lab.localhost"))
        with pytest.raises(SettingsError, match="is taken by product 'p'"):
            platform.provider(SocialProviders).add(SocialSettings(name="new", protocol="oauth2"))
        assert "new" not in platform.provider(SocialProviders)
