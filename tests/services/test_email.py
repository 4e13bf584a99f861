"""Email.send: addresses, sizes and senders; what a mail has is in the checks."""

import time
from typing import Any

import pytest

from labkit.providers.mail import Mailbox
from labkit.services.calls import Services
from labkit.services.email import Email
from labkit.services.operation import Caller
from tests.cases import cases
from tests.context import Entry, make_context, open_database

CALLER = Caller("acme")
GOOD: dict[str, Any] = {"to": "ann@example.com", "subject": "Hello", "text": "Hi"}


class Post:
    def __init__(self) -> None:
        context = make_context(Entry("acme"))
        open_database(context)
        assert isinstance(context.mailbox, Mailbox)
        self.context = context
        self.box = context.mailbox
        self.journal = context.journal
        self.services = Services(context, [Email(context)])

    async def send(self, **parts: Any) -> Any:
        return await self.services.call(CALLER, "Email", "send", parts)


@cases(
    "address",
    [
        "ann@example.com",
        "Ann <ann@example.com>",
        "a@acme.localhost",
        "a@x.test",
        "a@localhost",
        "é@example.com",
    ],
)
async def test_valid_addresses(address: str) -> None:
    post = Post()
    await post.send(**{**GOOD, "to": [address]})
    assert post.box[0].to == (address,)


@cases(
    "address",
    ["", "ann", "ann@", "@example.com", "a b@x.com", "a@b..c", "a@x.com, b@x.com", "a@x\nb: c", 7],
)
@cases("field", ["to", "cc", "bcc", "from"])
async def test_an_invalid_address_is_refused_by_name(field: str, address: object) -> None:
    post = Post()
    error = await post.send(**{**GOOD, field: address})
    assert (error["status"], error["type"]) == (400, "QueryError")
    assert error["error"].startswith(f"Parameter {field} validation failed")
    assert len(post.box) == 0


LONG = "a" * 64 + "@" + ".".join(["b" * 60] * 4) + ".example.com"  # the maximal length of an address
MARKS = "a" + "\u0301\u0316" * 60_000  # characters that take 20 s and more to normalise


@cases("hostile", [MARKS, f"{MARKS}@example.com", f"Ann{MARKS} <ann@example.com>", "a" * 10**7])
@cases("field", ["to", "cc", "bcc", "from"])
async def test_a_long_address_is_refused_before_it_is_parsed(field: str, hostile: str) -> None:
    post = Post()
    began = time.process_time()
    error = await post.send(**{**GOOD, field: hostile})
    assert time.process_time() - began < 0.5
    assert error["status"] == 400
    assert f"expected a mail address of at most 320 characters, not {len(hostile)}" in error["error"]
    assert "aaaa" not in error["error"]


async def test_an_address_of_maximal_length_is_parsed_quickly() -> None:
    post = Post()
    longest = [f"{MARKS[:150]}@example.com", f"{MARKS[:300]} <ann@example.com>"[:320], "\u0301" * 320, LONG]
    began = time.process_time()
    for each in longest:
        await post.send(**{**GOOD, "to": [each] * 100})
    assert time.process_time() - began < 2
    assert "expected at most 100 mail addresses" in (await post.send(**{**GOOD, "to": [LONG] * 101}))["error"]


@pytest.mark.parametrize("field", ["text", "html"])
async def test_the_size_of_a_body_is_limited(field: str) -> None:
    post = Post()
    assert "error" not in await post.send(**{**GOOD, field: "x" * 2**20})
    error = await post.send(**{**GOOD, field: "x" * (2**20 + 1)})
    assert error["error"].startswith(f"Parameter {field} validation failed: ")


@pytest.mark.parametrize("missing", ["to", "subject"])
async def test_to_and_subject_are_required(missing: str) -> None:
    error = await Post().send(**{name: value for name, value in GOOD.items() if name != missing})
    assert error == {
        "type": "QueryError",
        "status": 400,
        "status_code": 400,
        "error": f"Parameter {missing} is required.",
    }


async def test_the_body_never_reaches_the_journal() -> None:
    post = Post()
    await post.send(**{**GOOD, "text": "code 12345", "html": "code 67890"})
    written = post.journal.canonical()
    assert "Hello" in written
    assert "12345" not in written
    assert "67890" not in written


@pytest.mark.parametrize("configured", [{}, {"from": "é@x.example"}, {"from": "ann@x.example:8443"}])
async def test_the_settings_name_the_sender(configured: dict[str, str]) -> None:
    post = Post()
    post.context.configuration[CALLER.solution] = {"Email": configured}
    settings: Any = await post.services.call(CALLER, "Email", "getSettings")
    await post.send(**GOOD)
    assert (settings["from"], settings["custom"]) == (post.box[0].sender, False)
