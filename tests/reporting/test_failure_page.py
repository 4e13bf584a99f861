"""Pages of failures that hunts found."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.hunt import Draw, HuntFailure, Story, eventually, hunt, never, nothing_lost, story
from labkit.reporting.failure_page import FailureRecords, failure_page, picture_of
from labkit.reporting.failure_records import MOST, shown_records
from tests.lab.story_parts import Reports, product_of

pytestmark = pytest.mark.timeout(300)  # each test may be the first one, which waits for a hunt


@story(promises=[nothing_lost(under=["event lost"])])
def counts(lab: Lab, draw: Draw) -> None:
    """Count <what> devices write."""
    product = product_of(lab)
    app = lab.solution("app", products=[product])
    app.on("device", "datapoint", lambda services: services.Keystore.command(key="n", command="incr"))
    draw.number(1, 3, label="people")
    product.fleet(3, Reports).start(minutes=10).wait()


def failure_of(told: Story, **options: Any) -> HuntFailure:
    found = hunt(told, seeds=30, workers=0, **options)
    [failure] = found.failures.values()
    return failure


@pytest.fixture(scope="module")
def failure() -> HuntFailure:
    return failure_of(counts)


def test_a_page_says_what_was_promised_what_happened_and_how_to_repeat_it(failure: HuntFailure) -> None:
    page = failure_page(failure, Path("failures/test_counts.py"))
    assert "Count &lt;what&gt; devices write." in page
    assert "It must hold under: event lost." in page
    assert "What was on, at the level rough: event lost." in page
    assert "is lost to &#39;app&#39;" in page
    assert "people = 1" in page
    assert "labkit hunt --replay failures/test_counts.py" in page
    assert "play(\n    counts,\n    seed=" in page
    assert not re.search(r"src=|url\(|href=\"[^#]", page)  # needs nothing from elsewhere


def test_text_page_and_card_tell_the_cause(failure: HuntFailure) -> None:
    [hit] = failure.cause.hits
    assert hit.startswith("event lost: an event never arrives; at ")
    assert f"  hit: {hit}" in str(failure).splitlines()
    for shown in map(unescape, (failure_page(failure), failure._repr_html_())):
        assert hit in shown
        assert all(each.text in shown and each.links in shown for each in failure.cause.steps)
        assert "only what the fault hit differs until the breach" in shown


def test_a_program_is_in_the_lane_of_devices() -> None:
    fields = {"cause": None, "time": 0, "summary": "", "status": None, "size": None, "detail": None}
    kinds = ("start", "output", "end")
    lines = [
        json.dumps({"actor": f"firmware/d#{number}", "kind": kind, **fields})
        for number, kind in enumerate(kinds)
    ]
    assert [each.lane for each in shown_records("\n".join(lines), None, None)] == ["devices"] * 3


def test_the_chain_leads_from_the_request_to_the_breach(failure: HuntFailure) -> None:
    assert failure.smallest is not None
    played, breach = failure.smallest.played, failure.smallest.breach
    records = shown_records(played.journal, breach.record, breach.at)
    chain = [each for each in records if each.in_chain]
    assert [each.lane for each in chain] == ["devices", "platform"]
    assert [each.breaks for each in chain] == [False, True]
    assert chain[1].cause == chain[0].name
    [hit] = [each for each in records if each.lane == "faults"]
    assert hit.cause == chain[1].name
    assert breach.at is not None
    assert all(each.seconds <= breach.at - played.began for each in records)


def test_each_row_has_its_values_and_leads_to_its_cause(failure: HuntFailure) -> None:
    assert failure.smallest is not None
    journal, breach = failure.smallest.played.journal, failure.smallest.breach
    records = shown_records(journal, breach.record, breach.at)
    assert [each.number for each in records] == [*range(1, len(records) + 1)]
    names = {each.number: each.name for each in records}
    causes = {each.name: names[each.cause_number] for each in records if each.cause_number}
    assert causes == {each.name: each.cause for each in records if each.cause}
    [written] = {each.values for each in records if each.text.endswith(" datapoint") and each.breaks}
    assert re.fullmatch(r'temperature "[\d.]+"', written)
    page = failure_page(failure)
    rows = set(re.findall(r'<tr id="(record-\d+)"', page))
    assert len(rows) == len(records)
    assert set(re.findall(r'href="#(.+?)"', page)) == rows  # of the picture, and of causes


def test_a_cause_that_is_not_shown_is_named() -> None:
    lines = [
        {"actor": f"app#{number}", "time": number, "kind": "call", "summary": "S.o", "status": 200}
        | {"cause": None, "size": None, "detail": {"parameters": {}}}
        for number in range(1, 100)
    ]
    lines[-2]["cause"] = lines[0]["actor"]
    journal = "".join(json.dumps(each) + "\n" for each in lines)
    [last] = [each for each in shown_records(journal, None, None) if each.cause]
    assert (last.cause, last.cause_number) == ("app#1", None)


def test_lengths_are_explained_and_values_shown_where_the_journal_has_them() -> None:
    def empty(lab: Lab) -> bool:
        return not lab.solution("app").Keystore.get(key="k<").get("value")

    def told(lab: Lab, draw: Draw) -> None:
        app = lab.solution("app")
        app.route("GET", "/état", lambda: {"state": "né", "apiKey": "s3cret"})
        app.Keystore.set(key="k<", value="é<\x1b")
        app.get("/état")

    promises = [eventually(empty, within=0)]
    hint = "journal={&#34;values&#34;: True}".replace("&#34;", '"')
    page = failure_page(failure_of(Story(told, {}, promises), level="calm"))
    assert "key &#34;k&lt;&#34;, value (3 characters)" in page
    assert "answer of " in page
    assert hint in page
    assert "né" not in page
    page = failure_page(failure_of(Story(told, {"journal": {"values": True}}, promises), level="calm"))
    assert "key &#34;k&lt;&#34;, value &#34;é&lt;\\u001b&#34;" in page
    assert "né" in page
    assert "s3cret" not in page
    assert hint not in page


def test_arcs_lead_to_the_places_of_causes(failure: HuntFailure) -> None:
    assert failure.smallest is not None
    journal = failure.smallest.played.journal
    records = shown_records(journal, failure.smallest.breach.record, None)
    picture = picture_of(records)
    places = {dot.record.name: (dot.x, dot.y) for dot in picture.dots}
    assert len(set(places.values())) == len(records)
    assert {dot.record.name: dot.back for dot in picture.dots if dot.back} == {
        each.name: places[each.cause] for each in records if each.cause in places
    }
    assert all(dot.x < picture.width and dot.y < picture.height for dot in picture.dots)


def test_a_long_play_shows_a_bounded_number_of_records() -> None:
    @story(promises=[never(kind="call", summary="Keystore.get")])
    def many(lab: Lab, draw: Draw) -> None:
        app = lab.solution("app")
        for _ in range(200):
            app.Keystore.set(key="k", value="é<\x1b")
        app.Keystore.get(key="k")

    failure = failure_of(many, level="calm")
    records = shown_records(failure.play().journal, failure.breach.record, failure.breach.at)
    assert 1 < len(records) <= MOST
    assert records[-1].breaks
    assert "\x1b" not in failure_page(failure)


def test_the_hit_of_a_fault_is_shown_where_the_story_itself_checks() -> None:
    @story
    def checks(lab: Lab, draw: Draw) -> None:
        lab.solution("app").Keystore.set(key="k", value="v")
        lab.faults.add("Keystore.get", status=503)
        assert lab.solution("app").Keystore.get(key="k").get("value") == "v", "not <there>"

    page = failure_page(failure_of(checks, level="calm"))
    assert "The function of the story checks this itself." in page
    assert "not &lt;there&gt;" in page
    assert page.count('<rect class="fault"') == 1


def test_repeated_looks_of_a_promise_hide_nothing_and_causes_come_first() -> None:
    def counted(lab: Lab) -> bool:
        return bool(lab.solution("app").Keystore.get(key="n").get("value") == "7")

    @story(promises=[eventually(counted, within=60)])
    def counts_twice(lab: Lab, draw: Draw) -> None:
        product = product_of(lab)
        app = lab.solution("app", products=[product])
        app.on("device", "datapoint", lua='Keystore.command{key = "n", command = "incr"}')
        product.fleet(1, Reports).start(minutes=2).wait()

    failure = failure_of(counts_twice, level="calm")
    records = FailureRecords(failure)
    texts = [(each.text, each.values) for each in records.records]
    assert texts.count(("call 200 app Keystore.get", 'key "n"')) == 1
    places = {each.name: place for place, each in enumerate(records.records)}
    causes = [(places[each.cause], places[each.name]) for each in records.records if each.cause in places]
    assert len(causes) == 8  # of each write two events, a handler and its call
    assert all(cause < effect for cause, effect in causes)
    assert repr(records).splitlines()[-1] == (
        f'{records.records[-1].seconds:.6f} services: call 200 app Keystore.get: key "n"'
    )
    shown = records._repr_html_()
    assert {each.solution for each in records.records if each.lane in ("solutions", "services")} == {"app"}
    assert {each.solution for each in records.records if each.lane == "devices"} == {""}
    assert ">services of <b>app</b></td>" in shown
    assert shown.count("<circle") == len(records.records)
    assert shown.count("<tr>") == len(records.records) + 1
    assert repr(failure) == f"<failure of counts_twice: {failure.title}: {failure.breach.reason}>"


def test_an_empty_journal_has_no_records() -> None:
    assert shown_records("", None, None) == []
    assert picture_of([]).dots == ()
