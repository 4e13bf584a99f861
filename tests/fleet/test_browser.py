"""Browser of a virtual person: redirects across hosts, cookies per host, forms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labkit import Lab, LabError
from labkit.lab.solution import Solution
from labkit.solutions.web.response import Response

PAGE = """<!doctype html><title>two forms</title>
<form name="choose" method="post" action="/chosen">
  <input type="hidden" name="ticket" value="a&amp;b">
  <label><input type="radio" name="colour" value="red"> red</label>
  <label><input type="radio" name="colour" value="blue" checked> blue</label>
  <input type="checkbox" name="sure">
  <input name="note" value="">
  <textarea name="text">hi <3</textarea>
  <select name="size"><option value="s">S<option value="m" selected>M</select>
  <button name="decision" value="yes">Yes</button> <button name="decision" value="no">No</button>
  <button type="button" name="help">Help</button>
</form>
<form id="search" action="/found"><input name="q"><input type="submit" value="Go"></form>"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        here, there = lab.solution("here"), lab.solution("beyond")
        here.route("GET", "/page", page)
        here.route(
            "POST", "/chosen", lambda request: request.body, content_type="application/x-www-form-urlencoded"
        )
        here.route("GET", "/found", lambda request: request.parameters)
        here.route(
            "GET", "/away", lambda response: redirect(response, there.url("/arrived"), "from=here; Path=/")
        )
        here.route(
            "GET", "/outside", lambda response: redirect(response, "https://client.example.com/cb?code=1")
        )
        here.route("GET", "/script", lambda response: redirect(response, "javascript:alert(1)"))
        here.route("GET", "/round", lambda response: redirect(response, "/round"))
        here.route("GET", "/cookies", lambda request: request.headers.get("cookie", "none"))
        there.route("GET", "/arrived", lambda request: request.headers.get("cookie", "no cookie"))
        yield lab


@pytest.fixture
def here(lab: Lab) -> Solution:
    return lab.solution("here")


def page(response: Response) -> str:
    response.headers["Content-Type"] = "text/html; charset=utf-8"
    return PAGE


def redirect(response: Response, target: str, cookie: str = "") -> None:
    response.code = 303
    response.headers["Location"] = target
    if cookie:
        response.headers["Set-Cookie"] = cookie


def test_it_follows_redirects_to_another_host_and_separates_cookies(lab: Lab, here: Solution) -> None:
    browser = lab.browser()
    answer = browser.get(here.url("/away"))
    assert answer.url.host == "beyond.apps.lab.localhost"
    assert [each.status_code for each in answer.history] == [303]
    assert "no cookie" in answer.text
    assert "from=here" in browser.get(here.url("/cookies")).text
    assert "from=here" not in lab.browser().get(here.url("/cookies")).text


def test_it_stops_at_a_redirect_outside_the_lab(lab: Lab, here: Solution) -> None:
    answer = lab.browser().get(here.url("/outside"))
    assert (answer.status_code, answer.headers["Location"]) == (303, "https://client.example.com/cb?code=1")
    with pytest.raises(LabError, match="no HTTPS URL of this lab"):
        lab.browser().get(answer.headers["Location"])
    with pytest.raises(LabError, match="no HTTPS URL of this lab"):
        lab.browser().get(here.url("/page").replace("https:", "http:"))
    with pytest.raises(LabError, match="is no URL"):
        lab.browser().get(here.url("/\x7f"))


@pytest.mark.parametrize("follow", [True, False])
def test_a_redirect_to_an_invalid_url_is_an_error(lab: Lab, here: Solution, follow: bool) -> None:
    with pytest.raises(LabError, match="/script redirects to what is no URL"):
        lab.browser().get(here.url("/script"), follow=follow)


@pytest.mark.parametrize("url", ["https://[here", "\ud800", "https://here.apps.lab.localhost/\r\nX: y"])
def test_an_invalid_url_is_an_error(lab: Lab, url: str) -> None:
    with pytest.raises(LabError, match="URL"):
        lab.browser().get(url)


def test_redirects_are_not_followed_on_request(lab: Lab, here: Solution) -> None:
    assert lab.browser().get(here.url("/away"), follow=False).status_code == 303


def test_endless_redirects_are_an_error(lab: Lab, here: Solution) -> None:
    with pytest.raises(LabError, match="more than 20 times"):
        lab.browser().get(here.url("/round"))


def test_it_submits_the_fields_of_a_form(lab: Lab, here: Solution) -> None:
    browser = lab.browser()
    browser.get(here.url("/page"))
    assert [form.name for form in browser.forms] == ["choose", "search"]
    sent = browser.submit("choose", colour="red", note="a=b&c").json()
    assert sent == {
        "ticket": "a&b",
        "colour": "red",
        "note": "a=b&c",
        "text": "hi <3",
        "size": "m",
        "decision": "yes",
    }


def test_it_submits_a_form_by_get_with_the_chosen_button(lab: Lab, here: Solution) -> None:
    browser = lab.browser()
    browser.get(here.url("/page"))
    assert browser.submit("choose", decision="no", sure="on").json()["decision"] == "no"
    browser.get("/page")  # relative to the current page
    assert browser.submit("search", q="ä ö").json() == {"q": "ä ö"}


def test_a_missing_field_is_an_error_with_the_existing_ones(lab: Lab, here: Solution) -> None:
    browser = lab.browser()
    with pytest.raises(LabError, match="visited nothing"):
        browser.submit("choose")
    browser.get(here.url("/page"))
    with pytest.raises(LabError, match="has: choose, search"):
        browser.submit()
    with pytest.raises(LabError, match="no field 'colours', there are: ticket, colour"):
        browser.submit("choose", colours="red")
    with pytest.raises(LabError, match="'green' is not offered, there are: red, blue"):
        browser.submit("choose", colour="green")


def test_it_has_the_url_of_the_current_page(lab: Lab, here: Solution) -> None:
    browser = lab.browser()
    assert repr(browser) == "<browser at no page yet>"
    browser.get(here.url("/page"))
    assert repr(browser) == "<browser at here.apps.lab.localhost/page (200)>"
    assert "here.apps.lab.localhost/page" in browser._repr_html_()
