"""The page of a lab over HTTP: its files, codes that work once, documents of third parties, and foreign web pages."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from labkit import Lab
from labkit.control.over_http.listener import ControlAddress
from labkit.control.over_http.operations import operations
from labkit.control.over_http.page import DOCUMENT, FILES, LARGEST, TOKEN, WAITING
from labkit.lab.page import PageLink
from tests.cases import cases
from tests.control.over_http.caller import Caller

POLICY = {
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'"),
    *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
    *("require-trusted-types-for 'script'", "trusted-types 'none'"),
}
KEY = re.compile(r'"([a-z_]+\.[a-z_]+)"')
CLICK = re.compile(r'\b(?:act|acting|form)\((?:"[^"]*", |[^,()]* \? [^,]*, )?"([a-z_]+\.[a-z_]+)"')
NAMED = re.compile(r'"(/page/[\w.]+)"')


def code_of(link: str) -> dict[str, str]:
    """Return the header that the page sends with the code of a link."""
    return {"Authorization": f"Code {link.partition('#code=')[2]}"}


async def test_the_files_have_a_strict_policy_and_nothing_from_elsewhere(caller: Caller) -> None:
    del caller.client.headers["Authorization"]
    for path in ("/", *(f"/page/{each.name}" for each in FILES.iterdir() if each.name != "index.html")):
        answer = await caller.client.get(path)
        assert answer.status_code == 200, path
        assert {*answer.headers["Content-Security-Policy"].split("; ")} == POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "//" not in answer.text.replace("http://www.w3.org", "").replace("https?:", "").replace(
            "// ", ""
        )
        for named in NAMED.findall(answer.text):
            assert (FILES / Path(named).name).is_file() or named in (TOKEN, DOCUMENT)
        assert (await caller.client.post(path)).status_code == 405
        assert (await caller.client.get(path, headers={"Host": "evil.example"})).status_code == 403
    for path in (
        "/page",
        "/page/",
        "/page/../access.py",
        "/page/%2e%2e/access.py",
        "/page/index.html",
        "/page/document",
    ):
        assert (await caller.client.get(path)).status_code == 401, path


def test_each_operation_of_a_click_exists_and_is_shown_in_python() -> None:
    texts = {each.name: each.read_text() for each in FILES.glob("*.js")}
    named = {key for text in texts.values() for key in KEY.findall(text)}
    assert len(named) > 40
    assert named - operations().keys() == set()
    shown = {*KEY.findall(texts["lab.js"].partition("const PYTHON")[2])}
    clicked = {key for text in texts.values() for key in CLICK.findall(text)}
    # A run has a handle in the program alone that started it, a lab on demand none: their Python is a request.
    others = {
        "fleets.pause",
        "fleets.resume",
        "fleets.stop",
        "labs.end",
        "labs.page",
        "labs.renew",
        "labs.start",
    }
    assert clicked - shown == others


async def test_a_code_gives_the_token_once(caller: Caller, address: ControlAddress) -> None:
    link = address.page()
    assert link.startswith(f"{address.url}/#code=")
    assert address.token not in link
    for status, headers in ((200, code_of(link)), (403, code_of(link)), (403, code_of("#code=x")), (403, {})):
        answer = await caller.client.post("/page/token", headers={"Authorization": "", **headers})
        assert answer.status_code == status
        assert (answer.text == address.token) is (status == 200)
        assert answer.headers.get("Cache-Control", "no-store") == "no-store"
    links = [address.page() for _ in range(WAITING + 1)]
    statuses = [
        (await caller.client.post("/page/token", headers=code_of(each))).status_code for each in links
    ]
    assert statuses == [403] + [200] * WAITING


async def test_a_client_with_the_token_makes_links(caller: Caller, address: ControlAddress) -> None:
    fragment = (await caller.client.post("/page/code")).text
    assert (await caller.client.post("/page/token", headers=code_of(fragment))).text == address.token
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer x"}):
        assert (await caller.client.post("/page/code", headers=headers)).status_code == 401
        assert (await caller.client.post("/page/document", headers=headers)).status_code == 401


async def test_a_document_is_shown_once_apart_from_the_page(caller: Caller) -> None:
    html = "<script>alert(1)</script><img src=https://evil.example/a.png>é"
    path = (await caller.client.post("/page/document", content=html.encode())).text
    del caller.client.headers["Authorization"]
    answer = await caller.client.get(path)
    assert answer.text == html
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert policy[:2] == ["sandbox", "default-src 'none'"]
    assert "script" not in answer.headers["Content-Security-Policy"]
    assert (await caller.client.get(path)).status_code == 404
    assert (await caller.client.get("/page/document/x")).status_code == 404


async def test_a_document_has_a_limit(caller: Caller) -> None:
    assert (await caller.client.post("/page/document", content=b" " * (LARGEST + 1))).status_code == 413


@cases(
    ("origin", "status"),
    [
        *(("http://127.0.0.1:PORT", 200), ("https://127.0.0.1:PORT", 403), ("http://127.0.0.1:1", 403)),
        *(("http://127.0.0.1", 403), ("http://localhost:PORT", 403), ("http://evil.example:PORT", 403)),
        *(("null", 403), ("http://127.0.0.1:PORT/", 403), ("http://a@127.0.0.1:PORT", 403), ("", 403)),
    ],
)
async def test_only_the_labs_own_page_may_send_requests(caller: Caller, origin: str, status: int) -> None:
    given = origin.replace("PORT", str(caller.client.base_url.port))
    answer = await caller.client.post("/v1/clock/state", headers={"Origin": given})
    assert answer.status_code == status
    assert "Access-Control-Allow-Origin" not in answer.headers
    two = [("Origin", given), ("Origin", given)]
    assert (await caller.client.post("/v1/clock/state", headers=two)).status_code == 403
    if status == 200:  # the Host is checked first, whatever the Origin says
        rebound = {"Host": "evil.example", "Origin": "http://evil.example"}
        assert (await caller.client.post("/v1/clock/state", headers=rebound)).status_code == 403


def test_a_lab_in_this_process_listens_from_its_first_link() -> None:
    with Lab(seed=7) as lab:
        first, second = lab.page(), lab.page()
        assert first != second
        assert first.partition("#")[0] == second.partition("#")[0]
        assert repr(first) == first
        assert isinstance(first, PageLink)
        assert f'href="{first}"' in first._repr_html_()
        url = first.partition("/#")[0]
        token = httpx.post(f"{url}/page/token", headers=code_of(first)).text
        with Lab.connect(url, token) as there:
            link = there.page()
            assert httpx.post(f"{url}/page/token", headers=code_of(link)).text == token
        [future] = lab.fork(lambda lab, _: lab.page(), over=[1])
        assert (future.error, future.result in (first, second, None)) == (None, False)
        assert not lab.page().startswith(f"{url}/")  # a fork ends the listener
        url = lab.page().partition("/#")[0]
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
