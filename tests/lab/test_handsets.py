"""Handles of handsets and of the messaging provider: tables, pictures, completion."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import pytest

from labkit import Lab, LabError
from labkit.lab.handsets import SHOWN
from tests.cases import case
from tests.chromium import browser, needs_chromium
from tests.providers.messaging.api import Api

HOSTILE = (
    "<script>alert(1)</script>",
    "'\"><img src=x onerror=alert(1)>",
    "</div></div><style>*{display:none}</style>",
    "\u202e\u2066<b>&amp;",
    "x" * 400,
    "https://example.com/a.png",
)


@pytest.fixture
def api(lab: Lab, tmp_path: Path) -> Api:
    return Api(lab, tmp_path, lab.messaging.account)


class Looked(HTMLParser):
    """Parser of HTML that records elements and texts. Raises AssertionError for tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.styles: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.styles += [value or "" for name, value in attrs if name == "style"]
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def looked(html: str) -> Looked:
    """Parse a picture; it must consist of texts and inline styles, without external resources."""
    found = Looked(html)
    assert found.tags <= {"div", "span", "b"}
    assert found.attributes <= {"style", "dir"}
    for style in found.styles:
        assert "url(" not in style
        assert not set(style) & set("<>\"'&{}")
        assert all(":" in each for each in style.split(";"))
    return found


def test_handsets_are_a_mapping(lab: Lab, api: Api) -> None:
    assert (repr(lab.handsets), lab.handsets._repr_html_()) == (
        "<handsets: none yet>",
        "<b>handsets</b>: none yet",
    )
    api.bound(Address="b")
    api.bound(Address="a", BindingType="apn")
    api.sent(Identity="ann", Body="Hello")
    assert list(lab.handsets) == lab.handsets._ipython_key_completions_() == ["b", "a"]
    assert (len(lab.handsets), "a" in lab.handsets, "c" in lab.handsets) == (2, True, False)
    assert [each.address for each in lab.handsets.values()] == ["b", "a"]
    found = lab.handsets.get("a")
    assert found is not None
    assert (found.address, lab.handsets.get("c"), lab.handsets.get("c", "other")) == ("a", None, "other")
    assert repr(lab.handsets) == "<handsets: b, a>"
    assert repr(lab.handsets["a"]) == "<handset a: 1 message>"
    lab.handsets["a"].offline()
    assert repr(lab.handsets["a"]) == "<handset a: 1 message, offline>"
    with pytest.raises(LabError, match="no handset 'c', there are: b, a"):
        lab.handsets["c"]
    lab.handsets.clear()
    assert len(lab.handsets) == 0


def test_frames(lab: Lab, api: Api) -> None:
    assert list(lab.handsets.frame()["text"]) == []
    api.bound(Address="b")
    api.bound(Address="a", BindingType="apn")
    api.sent(Identity="ann", Body="Hello", Title="Hi")
    lab.handsets["a"].offline()
    lab.clock.advance(minutes=1)
    api.sent(Tag="apn", Body="later")
    frame = lab.handsets.frame()
    assert list(frame["address"]) == ["b", "a", "a"]
    assert list(frame["state"]) == ["delivered", "delivered", "waiting"]
    assert list(frame["title"]) == ["Hi", "Hi", ""]
    assert frame["time"].iloc[2] == pandas.Timestamp("2026-01-01T00:01:00Z")
    assert frame["ended"].iloc[2] is pandas.NaT
    assert frame["ended"].iloc[0] == pandas.Timestamp("2026-01-01T00:00:00Z")
    assert frame["payload"].iloc[2]["aps"] == {"alert": {"body": "later"}}
    assert list(lab.handsets["a"].frame()["text"]) == ["Hello", "later"]
    assert frame.dtypes["time"] == lab.handsets["a"].frame().dtypes["ended"]


def test_a_picture_of_each_channel(lab: Lab, api: Api) -> None:
    api.bound(BindingType="apn", Address="t" * 64)
    api.bound(BindingType="gcm", Address="gcm")
    api.bound(BindingType="sms", Address="+15550001")
    api.bound(BindingType="chat-messenger", Address="m:1")
    lab.clock.advance(hours=9, minutes=41)
    api.sent(
        Tag="all", Body="It is done.", Title="Laundry", Sound="chime", Action="Open", Data={"n": [1, "é"]}
    )
    apn = looked(lab.handsets["t" * 64]._repr_html_()).text
    for each in (
        "ttttttttttttttt…tttttttt",
        "online",
        "Thursday 1 January",
        "09:41",
        "Push · apn",
        "09:41:00",
    ):
        assert each in apn
    for each in ("Laundry", "It is done.", "♪ chime", 'n: [1, "é"]', "Open"):
        assert each in apn
        assert each in looked(lab.handsets["gcm"]._repr_html_()).text
    for address, name in (("+15550001", "SMS"), ("m:1", "Chat")):
        text = looked(lab.handsets[address]._repr_html_()).text
        assert all(each in text for each in (address, name, "It is done."))
        assert not any(each in text for each in ("Laundry", "chime", "Open", "MG"))
    together = lab.handsets._repr_html_()
    assert all(each in looked(together).text for each in ("Push · apn", "Push · gcm", "SMS", "Chat"))


def test_newest_first_and_undelivered_messages_below(lab: Lab, api: Api) -> None:
    api.bound(Address="a")
    for number in range(8):
        api.sent(Identity="ann", Body=f"message {number}")
    handset = lab.handsets["a"]
    handset.offline()
    api.sent(Identity="ann", Body="unseen", Ttl=1)
    lab.clock.advance(seconds=1)
    api.sent(Identity="ann", Body="unseen")
    text = looked(handset._repr_html_()).text
    assert [line for line in text.splitlines() if line.startswith("message")] == [
        f"message {number}" for number in (7, 6, 5, 4, 3)
    ]
    for each in ("and 3 earlier", "1 waiting", "1 expired", "offline"):
        assert each in text
    assert "unseen" not in text


def test_a_handset_without_messages(lab: Lab, api: Api) -> None:
    api.bound(Address="a")
    assert "No notifications" in looked(lab.handsets["a"]._repr_html_()).text


def test_further_handsets_are_listed_below(lab: Lab, api: Api) -> None:
    for number in range(SHOWN + 25):
        api.bound(Identity=f"i{number}", Address=f"a{number}")
    api.sent(Tag="all", Body="x")
    text = looked(lab.handsets._repr_html_()).text
    assert f"and 25 more: a{SHOWN}, " in text
    assert text.rstrip().endswith(f"a{SHOWN + 19}, …")


def everywhere(api: Api, text: str) -> None:
    """Send a text in every field that may contain one."""
    api.bound(BindingType="apn", Address=text.replace(" ", "")[:200], Identity=text[:100])
    api.bound(BindingType="sms", Address="+15550001", Identity=text[:100])
    extras: dict[str, Any] = {
        "Data": {text: text, "deep": {text: [text]}},
        "Apn": {"aps": {"sound": {text: text}}},
    }
    api.sent(
        Identity=text[:100],
        Body=text,
        Title=text,
        Sound=text,
        Action=text,
        Sms={"media_url": [text], "from": text},
        **extras,
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_sent_text_is_always_escaped(lab: Lab, api: Api, text: str) -> None:
    everywhere(api, text)
    assert len(lab.handsets) == 2
    assert looked(lab.handsets._repr_html_()).text.count(text[:10]) > 5


@needs_chromium
@pytest.mark.xdist_group("chromium")  # these tests share a browser
async def test_a_browser_requests_nothing_runs_no_script_and_pictures_fit_each_width(
    lab: Lab, api: Api, tmp_path: Path, chromium_port: int
) -> None:
    for text in HOSTILE:
        everywhere(api, text)
    page = tmp_path / "page.html"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = f'<meta charset=utf-8><meta http-equiv=Content-Security-Policy content="{policy}">'
    page.write_text(f"<!doctype html>{head}<body style='margin:0'>{lab.handsets._repr_html_()}")
    cut = "[...document.querySelectorAll('div,span')].filter(each => each.scrollWidth > each.clientWidth + 1"
    cut += " && getComputedStyle(each).display !== 'inline').length"
    tops = (
        "new Set([...document.body.firstChild.children].map(each => each.getBoundingClientRect().top)).size"
    )
    async with browser(chromium_port) as tab:
        for width in (240, 400, 1000):
            with case(width):
                await tab.size(width)
                await tab.goto(page.as_uri())
                assert await tab.evaluate("document.documentElement.scrollWidth") <= width
                assert await tab.evaluate(cut) == 0
                assert await tab.evaluate(tops) == (3 if width == 1000 else len(lab.handsets))
        assert "Push · apn" in await tab.page()
        assert await tab.log_entries() == []


# ---- the provider's handle


def test_the_provider_has_a_representation(lab: Lab, api: Api) -> None:
    messaging = lab.messaging
    assert repr(messaging) == "<messaging at messaging.lab.localhost>"
    assert messaging.url("v1") == messaging.url("/v1") == f"{messaging.url()}/v1"
    account = messaging.account
    assert (set(account), messaging.accounts) == ({"AccountSid", "AuthToken", "ServiceSid"}, [account])
    api.bound()
    [arrived] = messaging.inbox
    assert (arrived.method, arrived.status, arrived.parameters["Identity"]) == ("POST", 201, "ann")
    assert list(messaging.inbox.frame()["answer"]) == [arrived.answer]
    text = Looked(messaging._repr_html_()).text
    assert all(each in text for each in (account["AccountSid"], account["ServiceSid"], "1 request"))
    messaging.inbox.clear()
    assert (len(messaging.inbox), messaging.outside) == (0, None)


def test_an_account_without_services_has_no_service() -> None:
    sid = "AC" + "1" * 32
    settings = {"accounts": [{"sid": sid, "token": "t"}], "outside": "https://elsewhere.example"}
    with Lab(seed=7, providers={"messaging": settings}) as lab:
        assert lab.messaging.accounts[1] == {"AccountSid": sid, "AuthToken": "t"}
        assert lab.messaging.outside == "https://elsewhere.example"
        assert "elsewhere.example" in lab.messaging._repr_html_()


def test_an_account_configures_a_solution(lab: Lab) -> None:
    home = lab.solution("home", services={"Email": lab.messaging.account})
    lab.solution("home", services={"Email": lab.messaging.account})  # the cell may run again
    assert home.Config.getParameters(service="Email")["parameters"] == dict(lab.messaging.account)
