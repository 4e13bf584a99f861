"""The mailbox: received mails, search by address, and links in texts."""

import time

from labkit.providers.mail import Mail, Mailbox
from tests.cases import cases


def mailbox() -> Mailbox:
    times = iter(range(100, 200))
    return Mailbox(lambda: float(next(times)))


def receive(box: Mailbox, to: str = "ann@example.com", **parts: str) -> Mail:
    return box.receive(
        solution=parts.get("solution", "acme"),
        sender="noreply@acme.localhost",
        to=[to],
        subject=parts.get("subject", "Hello"),
        text=parts.get("text", ""),
        html=parts.get("html", ""),
    )


def test_mails_keep_their_order_and_lab_time() -> None:
    box = mailbox()
    receive(box, subject="one")
    receive(box, subject="two")
    assert [(mail.time, mail.subject) for mail in box] == [(100.0, "one"), (101.0, "two")]
    assert box[-1].subject == "two"


def test_find_by_address_looks_at_every_recipient() -> None:
    box = mailbox()
    box.receive(
        solution="acme",
        sender="a@b.c",
        to=["Ann <ann@example.com>"],
        cc=["bob@example.com"],
        bcc=["Eve@example.com"],
        subject="x",
    )
    receive(box, to="other@example.com")
    for address in ("ann@example.com", "BOB@example.com", "eve@example.com"):
        assert [mail.subject for mail in box.find(to=address)] == ["x"]
    assert box.find(to="nobody@example.com") == []


def test_find_needs_all_given_properties() -> None:
    box = mailbox()
    receive(box, subject="Welcome", solution="acme")
    receive(box, subject="Welcome", solution="other")
    assert len(box.find(subject="Wel")) == 2
    assert [mail.solution for mail in box.find(subject="Wel", solution="other")] == ["other"]


@cases(
    ("text", "links"),
    [
        ("no link", []),
        ("Go to https://acme.localhost:8443/api/verify/abc.", ["https://acme.localhost:8443/api/verify/abc"]),
        ("(see http://x.localhost/?rt=1&y=2)", ["http://x.localhost/?rt=1&y=2"]),
        ("http://x.localhost/a_(b)", ["http://x.localhost/a_(b)"]),
        ("http://x.localhost/ and http://x.localhost/", ["http://x.localhost/"]),
        ("<http://x.localhost/1>\n<http://x.localhost/2>", ["http://x.localhost/1", "http://x.localhost/2"]),
    ],
)
def test_links_in_text(text: str, links: list[str]) -> None:
    assert receive(mailbox(), text=text).links == links


def test_links_in_html_are_unescaped_and_lead_only_to_the_web() -> None:
    html = """<A class=x HREF="https://x.localhost/?a=1&amp;b=2">go</a> <a href='mailto:a@b.c'>m</a>
    <a href=https://x.localhost/3>3</a>"""
    assert receive(mailbox(), html=html).links == ["https://x.localhost/?a=1&b=2", "https://x.localhost/3"]


@cases(
    "hostile", ["<a " * 100_000, "<a href" * 50_000, "<a " + "href " * 60_000, "http://x" + ".)" * 200_000]
)
def test_no_text_makes_the_search_for_links_slow(hostile: str) -> None:
    began = time.process_time()
    assert len(receive(mailbox(), text=hostile, html=hostile).links) <= 1
    assert time.process_time() - began < 1


async def test_clear() -> None:
    box = mailbox()
    receive(box)
    await box.clear()
    assert len(box) == 0
