"""Repeated heads on one connection, which mean the same whatever is sent with them and between them."""

from labkit.edge.repeated import SHORT
from tests.cases import cases
from tests.edge.rig import HOST, EdgeRig, get


def post(body: str, *headers: str, length: int | None = None) -> str:
    lines = [f"Host: {HOST}", f"Content-Length: {len(body) if length is None else length}", *headers]
    return "POST /p HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in lines) + f"\r\n{body}"


A = f"{HOST} POST /p "
GOT = f"{HOST} GET /a "
UPGRADE = get("/a", HOST, "Connection: Upgrade", "Upgrade: websocket")
# By title: each piece that is sent, and the expected answers.
STORIES: dict[str, list[tuple[str, list[str]]]] = {
    "the same": [(post(each), [A + each]) for each in ("one", "two", "one")],
    "no body": [(get(f"/{each}"), [f"{HOST} GET /{each} "]) for each in "aaba"],
    "another length": [(post(each), [A + each]) for each in ("one", "three", "one")],
    "the body later": [(post("one"), [A + "one"]), (post("", length=3), []), ("two", [A + "two"])],
    "cut in the body": [(post("one"), [A + "one"]), (post("tw", length=3), []), ("o", [A + "two"])],
    "cut in the head": [(post("one"), [A + "one"]), (post("two")[:30], []), (post("two")[30:], [A + "two"])],
    "two at once": [(post("one"), [A + "one"]), (post("two") + post("six"), [A + "two", A + "six"])],
    "another behind it": [
        (get("/a"), [GOT]),
        (get("/a") + post("one"), [GOT, A + "one"]),
        (get("/a"), [GOT]),
    ],
    "large": [(post("one", f"X: {'x' * SHORT}"), [A + "one"])] * 2,
    "empty lines before": [(get("/a"), [GOT]), ("\r\n\r\n" + get("/a"), [GOT])],
    "an upgrade that is not taken up": [(UPGRADE, [GOT])] * 2,
}


@cases("story", STORIES)
async def test_a_repeated_head_is_answered_as_the_first_one(rig: EdgeRig, parser: str, story: str) -> None:
    await rig.begin_case()
    client = await rig.connect()
    for sent, expected in STORIES[story]:
        client.send(sent)
        assert [(await client.answer())[2].decode() for _ in expected] == expected


async def test_malformed_input_after_it_is_refused(rig: EdgeRig, parser: str) -> None:
    client = await rig.connect()
    for _ in range(2):
        assert (await client.answer(post("one")))[0] == 200
    client.send(post("one").replace("POST", "PO ST"))
    assert (await client.answer())[0] == 400


async def test_the_host_is_checked_again(rig: EdgeRig) -> None:
    """The head means the same, but its host may no longer be served."""
    client = await rig.connect()
    for _ in range(2):
        assert (await client.answer(get("/a")))[0] == 200
    rig.context.hosts.remove(HOST)
    client.send(get("/a"))
    assert await client.rest() == b""


async def test_the_connection_ends_after_a_repeated_connection_close(rig: EdgeRig, parser: str) -> None:
    client = await rig.connect()
    assert (await client.answer(get("/a")))[0] == 200
    client.send(get("/a", HOST, "Connection: close"))
    assert (await client.rest()).startswith(b"HTTP/1.1 200 ")


async def test_a_head_is_validated_until_it_was_valid_once(rig: EdgeRig) -> None:
    for line, status in (("Expect: more", 417), ("Content-Encoding: gzip", 415)):
        client = await rig.connect()
        assert (await client.answer(post("one")))[0] == 200
        assert (await client.answer(post("one", line)))[0] == status
        client = await rig.connect()
        assert (await client.answer(post("one", line)))[0] == status


async def test_the_host_header_is_checked_after_each_change(rig: EdgeRig) -> None:
    """Over one connection: in between another valid spelling of the host, then an invalid one."""
    client = await rig.connect()
    for host in (HOST, HOST, HOST.upper(), HOST, HOST):
        assert (await client.answer(get("/a", host)))[2].decode() == GOT
    client.send(get("/a", f"other.{HOST}"))
    assert await client.rest() == b""
