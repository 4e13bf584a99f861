"""Registry of devices and their credentials."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from labkit.core.errors import LabError
from labkit.core.identifiers import Identifiers
from labkit.devices import registry as registry_module
from labkit.devices.identities import resource_id
from labkit.devices.registry import ALL, PAGE, DeviceRecord, Registry, fingerprint, password_digest
from labkit.devices.selection import DeviceSelection
from labkit.devices.tags import Tag, add_tags
from labkit.faults.patterns import Pattern
from labkit.labtime.clock import Clock
from labkit.storage.database import Database

PASSWORD = "correct horse battery staple"
TOKEN = "0123456789" * 4


async def provisioned(
    registry: Registry, identity: str = "d", product: str = "p"
) -> tuple[DeviceRecord, str]:
    outcome, token = await registry.provision_token(product, identity, register=True)
    assert outcome == "provisioned"
    device = await registry.find_by_token(product, token)
    assert device is not None
    return device, token


async def status(registry: Registry, identity: str) -> str | None:
    device = await registry.find("p", identity)
    return None if device is None else device.status


# --- tokens -------------------------------------------------------------------------------------------------


async def test_a_token_belongs_to_one_device_of_one_product(registry: Registry) -> None:
    device, token = await provisioned(registry)
    assert (device.product, device.identity, device.status, device.provisioned) == (
        "p",
        "d",
        "provisioned",
        1000,
    )
    assert re.fullmatch("[0-9a-f]{40}", token)
    assert await registry.find_by_token("other", token) is None
    assert await registry.find_by_token("p", token[:-1]) is None
    assert (
        await registry.find_by_token("p", "\udcff" * 40) is None
    )  # bytes that are not UTF-8, as headers have them


async def test_a_resource_is_found_by_its_id_while_its_device_exists(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found(product: str, identity: str, *aliases: str, of: str = "p") -> list[object]:
        ids = [resource_id(of, identity, alias) for alias in ("", "a", "b")]
        return [await registry.find_resource(product, aliases, rid) for rid in ids]

    monkeypatch.setattr(registry_module, "PAGE", 6)  # so that some devices change between its pages
    await registry.allow("p", [f"d{number}" for number in range(9)])
    await registry.allow("other", ["d0"])
    first = asyncio.gather(*(found("p", each, "a", "b") for each in ("d0", "d8", "e")))
    await asyncio.sleep(0)
    await registry.remove("p", "d8")
    await registry.add("p", "e")
    assert (await first)[0] == [("d0", ""), ("d0", "a"), ("d0", "b")]
    assert await found("p", "d8", "a", "b") == [None] * 3
    assert await found("p", "e", "a", "b") == [("e", ""), ("e", "a"), ("e", "b")]
    assert await found("other", "d0", "a", "b") == [None] * 3
    assert await found("other", "d0", "a", of="other") == [("d0", ""), ("d0", "a"), None]
    await provisioned(registry, "d8")
    assert await found("p", "d8", "b") == [("d8", ""), None, ("d8", "b")]
    assert await found("p", "d8", "b", "a") == [("d8", ""), ("d8", "a"), ("d8", "b")]
    registry.forget_all()
    assert await found("p", "e", "b", "a") == [("e", ""), ("e", "a"), ("e", "b")]
    for wrong in ("", "x", "\ud800", resource_id("p", "e").upper(), "0x" + resource_id("p", "e")):
        assert await registry.find_resource("p", ("b", "a"), wrong) is None


async def test_only_digests_are_stored(registry: Registry, database: Database) -> None:
    _, token = await provisioned(registry)
    await registry.provision_password("p", "w", PASSWORD, register=True)
    assert token not in repr(await database.select("select * from device"))
    kept = await database.select("select digest, salt from device")
    assert [digest for digest, _ in kept.rows] == [
        fingerprint(token),
        password_digest(PASSWORD, kept.rows[1][1]),
    ]


async def test_a_replaced_token_is_invalid_at_once(registry: Registry) -> None:
    device, old = await provisioned(registry)
    outcome, new = await registry.provision_token("p", "d", register=False, replacing=device.digest)
    assert (outcome, new == old) == ("provisioned", False)
    assert await registry.find_by_token("p", old) is None
    found = await registry.find_by_token("p", new)
    assert found is not None
    assert found.identity == "d"


async def test_a_credential_that_was_replaced_concurrently_replaces_nothing(registry: Registry) -> None:
    device, _ = await provisioned(registry)
    first, token = await registry.provision_token("p", "d", register=True, replacing=device.digest)
    second, _ = await registry.provision_token("p", "d", register=True, replacing=device.digest)
    assert (first, second) == ("provisioned", "taken")
    assert await registry.find_by_token("p", token) is not None


async def test_a_provisioned_device_gets_no_new_token_without_its_own(registry: Registry) -> None:
    _, token = await provisioned(registry)
    assert (await registry.provision_token("p", "d", register=True))[0] == "taken"
    assert await registry.find_by_token("p", token) is not None


async def test_an_unknown_identity_needs_registration_or_whitelisting(registry: Registry) -> None:
    assert (await registry.provision_token("p", "d", register=False))[0] == "unknown"
    assert await registry.find("p", "d") is None
    await registry.allow("p", ["d"])
    assert await status(registry, "d") == "whitelisted"
    assert (await registry.provision_token("p", "d", register=False))[0] == "provisioned"
    device = await registry.find("p", "d")
    assert device is not None
    assert (device.whitelisted, device.status) == (True, "provisioned")


async def test_a_look_up_during_a_change_of_the_device_is_not_cached(registry: Registry) -> None:
    device, old = await provisioned(registry)
    registry.forget_all()  # so that the next look-up queries the database
    write = asyncio.ensure_future(registry.allow("p", ["e"]))  # a read in this turn waits for the commit
    look = asyncio.ensure_future(registry.find_by_token("p", old))
    change = asyncio.ensure_future(
        registry.provision_token("p", "d", register=False, replacing=device.digest)
    )
    await asyncio.sleep(0)
    change.cancel()  # so that it continues before the look-up does
    await asyncio.wait([write, look, change])
    assert await registry.find_by_token("p", old) is None


async def test_a_client_that_leaves_during_the_replacement_leaves_no_old_token(
    registry: Registry,
) -> None:
    device, old = await provisioned(registry)
    task = asyncio.ensure_future(registry.provision_token("p", "d", register=False, replacing=device.digest))
    await asyncio.sleep(0)  # stored, the commit is pending
    task.cancel()
    await asyncio.wait([task])
    assert await registry.find_by_token("p", old) is None


# --- passwords and certificates -----------------------------------------------------------------------------


async def test_a_password_is_checked_for_its_identity(registry: Registry) -> None:
    assert await registry.provision_password("p", "d", PASSWORD, register=True) == "provisioned"
    assert await registry.provision_password("p", "e", PASSWORD, register=True) == "provisioned"
    device = await registry.find_by_password("p", "d", PASSWORD)
    assert device is not None
    assert device.identity == "d"
    for product, identity, password in (
        ("p", "d", PASSWORD + "x"),
        ("p", "d", ""),
        ("p", "nobody", PASSWORD),
        ("q", "d", PASSWORD),
    ):
        assert await registry.find_by_password(product, identity, password) is None
    frame = [device.digest for device in await registry.all("p")]
    assert frame[0] != frame[1]  # salted


async def test_a_password_is_replaced(registry: Registry) -> None:
    await registry.provision_password("p", "d", PASSWORD, register=True)
    device = await registry.find_by_password("p", "d", PASSWORD)
    assert device is not None
    assert await registry.provision_password("p", "d", "x" * 20, register=True) == "taken"
    await registry.provision_password("p", "d", "x" * 20, register=False, replacing=device.digest)
    assert await registry.find_by_password("p", "d", PASSWORD) is None
    assert await registry.find_by_password("p", "d", "x" * 20) is not None


async def test_a_certificate_is_pinned_to_its_identity(registry: Registry) -> None:
    assert await registry.provision_certificate("p", "d", b"der 1", register=True) == "provisioned"
    assert await registry.provision_certificate("p", "d", b"der 2", register=True) == "taken"
    for _ in range(2):  # once from the database, once from the cache
        device = await registry.find_by_certificate("p", "d", b"der 1")
        assert device is not None
        assert device.identity == "d"
        assert await registry.find_by_certificate("p", "e", b"der 1") is None
        assert await registry.find_by_certificate("p", "d", b"der 2") is None
        assert await registry.find_by_certificate("q", "d", b"der 1") is None
    device = await registry.find_by_certificate("p", "d", b"der 1")
    assert device is not None
    await registry.provision_certificate("p", "d", b"der 2", register=False, replacing=device.digest)
    assert await registry.find_by_certificate("p", "d", b"der 1") is None
    assert await registry.find_by_certificate("p", "d", b"der 2") is not None


# --- whitelisting, locking, removing ------------------------------------------------------------------------


async def test_whitelisting_keeps_a_devices_credentials(registry: Registry) -> None:
    _, token = await provisioned(registry)
    await registry.allow("p", ["d", "e"])
    device = await registry.find_by_token("p", token)
    assert device is not None
    assert device.whitelisted  # also of a device that is cached
    assert [each.identity for each in await registry.all("p")] == ["d", "e"]
    assert await registry.all("q") == []


async def test_many_devices_are_read_in_parts(registry: Registry) -> None:
    for count in (PAGE, 2 * PAGE + 1):
        names = [f"d{number:05}" for number in range(count)]
        await registry.allow("p", names)
        assert [each.identity for each in await registry.all("p")] == names


NAMES = sorted(
    ["a", "a*", "a?c", "a[b]", "abc", "abcb", "b", "B", "ü", "üb", *(f"d{at:04}" for at in range(2500))]
)


@pytest.mark.parametrize(
    "pattern",
    [None, "a", "a*", "*", "*b", "a*c", "a?c", "a?*", "a[*", "*[b]", "a[b]", "ü*", "d*7", "**", "x"],
)
async def test_a_pattern_selects_pages_and_counts(registry: Registry, pattern: str | None) -> None:
    await registry.allow("p", NAMES)
    await registry.allow("q", ["a", "x"])
    wanted, matching = DeviceSelection(pattern), Pattern(pattern or "*")
    expected = [each for each in NAMES if matching.matches(each)]
    assert await registry.count("p", wanted) == len(expected)
    for limit, offset in ((1, 0), (3, 2), (5000, 0), (7, 200), (10, len(expected) - 3)):
        found = await registry.select("p", wanted, limit, max(offset, 0))
        assert [each.identity for each in found] == expected[max(offset, 0) :][:limit]


async def test_a_long_page_is_read_in_windows(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "WINDOW", 500)
    await registry.allow("p", NAMES)
    for limit, offset in ((10_000, 0), (501, 1), (700, 600), (10, 2490), (10_000, 10_000)):
        found = await registry.select("p", ALL, limit, offset)
        assert [each.identity for each in found] == NAMES[offset:][:limit]


async def test_status_and_tags_select_devices(registry: Registry, database: Database) -> None:
    await registry.allow("p", NAMES)
    await registry.provision_token("p", "d1500", register=False)
    await registry.provision_token("p", "abc", register=False)
    for each in ("abc", "d2499"):
        await registry.lock("p", each)
    for each, value in (("d0001", "x"), ("d1500", "x"), ("d2499", "y")):
        await database.run(add_tags, "p", each, [Tag("t", value), Tag("u", "z")], False)
    await database.run(add_tags, "q", "d0002", [Tag("t", "x")], False)

    async def chosen(**wanted: Any) -> list[str]:
        selection = DeviceSelection(**wanted)
        found = [each.identity for each in await registry.select("p", selection, 5000)]
        assert await registry.count("p", selection) == len(found)
        return found

    assert await chosen(statuses=["locked"]) == ["abc", "d2499"]
    assert await chosen(statuses=["provisioned"]) == ["d1500"]
    assert await chosen(statuses=["whitelisted"]) == [
        each for each in NAMES if each not in ("abc", "d1500", "d2499")
    ]
    assert await chosen(tags=[Tag("t", None)]) == ["d0001", "d1500", "d2499"]
    assert await chosen(tags=[Tag("t", "x"), Tag("u", "z")]) == ["d0001", "d1500"]
    assert await chosen(tags=[Tag("t", "x"), Tag("t", "y")]) == []
    assert await chosen(pattern="d2*", statuses=["locked"], tags=[Tag("u", None)]) == ["d2499"]


async def test_a_preset_token_works_without_activation(registry: Registry) -> None:
    await registry.allow("p", ["d"], TOKEN)
    device = await registry.find_by_token("p", TOKEN)
    assert device is not None
    assert (device.identity, device.status, device.provisioned) == ("d", "provisioned", 1000)
    await registry.allow("p", ["d"], TOKEN)  # a repetition changes nothing


@pytest.mark.parametrize(
    ("identities", "token", "reason"),
    [
        (["e"], "short", "a token has 40 characters, this one has 5"),
        (["e", "f"], TOKEN, "one device"),
        (["e"], TOKEN, "this token is that of 'd'"),
    ],
)
async def test_a_preset_token_belongs_to_one_device(
    registry: Registry, identities: list[str], token: str, reason: str
) -> None:
    await registry.allow("p", ["d"], TOKEN)
    with pytest.raises(LabError, match=reason):
        await registry.allow("p", identities, token)
    assert await registry.find("p", "e") is None


async def test_locking_and_unlocking_take_effect_at_once(registry: Registry) -> None:
    _, token = await provisioned(registry)
    for locked in (True, False):
        await registry.lock("p", "d", locked)
        device = await registry.find_by_token("p", token)
        assert device is not None
        assert (device.locked, device.status) == (locked, "locked" if locked else "provisioned")


async def test_a_locked_device_gets_no_first_credential(registry: Registry) -> None:
    await registry.allow("p", ["d"])
    await registry.lock("p", "d")
    assert (await registry.provision_token("p", "d", register=True))[0] == "locked"
    assert await registry.provision_certificate("p", "d", b"der", register=True) == "locked"
    device = await registry.find("p", "d")
    assert device is not None
    assert device.digest is None


async def test_a_removed_device_is_forgotten_at_once(registry: Registry) -> None:
    _, token = await provisioned(registry)
    await registry.remove("p", "d")
    assert await registry.find_by_token("p", token) is None
    assert await status(registry, "d") is None


async def test_only_known_devices_can_be_locked_and_removed(registry: Registry) -> None:
    for change in (registry.lock, registry.remove):
        with pytest.raises(LabError, match="product 'p' has no device 'd'"):
            await change("p", "d")


async def test_an_emptied_database_is_read_anew(registry: Registry, database: Database) -> None:
    _, token = await provisioned(registry)
    await database.run(lambda connection: connection.exec_driver_sql("DELETE FROM device").rowcount)
    registry.forget_all()
    assert await registry.find_by_token("p", token) is None


async def test_a_seed_gives_each_device_its_own_tokens(database: Database, clock: Clock) -> None:
    tokens = []
    for order in ("ab", "ba"):
        registry = Registry(database, clock, Identifiers(7))
        made = {
            identity: (await registry.provision_token("p", identity, register=True))[1] for identity in order
        }
        tokens.append((made["a"], made["b"]))
    assert tokens[0] == tokens[1]
    assert tokens[0][0] != tokens[0][1]
