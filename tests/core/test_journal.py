"""The journal: a ring of records, which are formatted when they are read."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import pytest
from pydantic import SecretStr

from labkit.core.journal import Journal
from labkit.core.records import Record
from labkit.labtime.clock import Clock
from tests.cases import cases


@pytest.fixture
def clock() -> Clock:
    return Clock(0, start=100)


@pytest.fixture
def journal(clock: Clock) -> Journal:
    return Journal(clock.micros, capacity=5)


async def test_a_record_has_its_sequence_time_and_count(journal: Journal, clock: Clock) -> None:
    first = journal.record("request", "p/a", "GET /timestamp", status=200, size=10)
    await clock.advance(1.5)
    second = journal.record("event", "p/b", "data_in", cause=first, detail={"x": 1})
    third = journal.record("event", "p/a", "datapoint", cause=first)
    assert (first, second, third) == (1, 2, 3)
    shown = [
        (r.sequence, r.time, r.kind, r.actor, r.summary, r.cause, r.status, r.size, r.detail, r.count)
        for r in journal
    ]
    assert shown == [
        (1, 100_000_000, "request", "p/a", "GET /timestamp", None, 200, 10, None, 1),
        (2, 101_500_000, "event", "p/b", "data_in", 1, None, None, {"x": 1}, 1),
        (3, 101_500_000, "event", "p/a", "datapoint", 1, None, None, None, 2),
    ]


def test_a_begun_record_is_completed_later(journal: Journal) -> None:
    entry = journal.open("request", "p", "POST /x")
    entry.status, entry.size, entry.detail = 204, 0, {"reason": "none"}
    [kept] = journal
    assert (kept.status, kept.size, kept.detail) == (204, 0, {"reason": "none"})


def test_a_full_ring_drops_and_counts_the_oldest(journal: Journal) -> None:
    for number in range(12):
        journal.record("event", f"p/{number % 2}", str(number))
    assert [entry.summary for entry in journal] == ["7", "8", "9", "10", "11"]
    assert (len(journal), journal.dropped) == (5, 7)
    assert [entry.sequence for entry in journal] == [8, 9, 10, 11, 12]
    journal.clear()
    assert (len(journal), journal.dropped) == (0, 0)
    assert journal.record("event", "p/0", "again") == 1
    assert next(iter(journal)).count == 1


def test_records_are_selected_by_kind_and_actor(journal: Journal) -> None:
    for kind, actor in (("request", "a"), ("event", "a"), ("event", "b")):
        journal.record(kind, actor, f"{kind} of {actor}")
    assert [entry.summary for entry in journal.select("event")] == ["event of a", "event of b"]
    assert [entry.summary for entry in journal.select(actor="a")] == ["request of a", "event of a"]
    assert [entry.summary for entry in journal.select("event", "b")] == ["event of b"]
    assert len(journal.select()) == 3


def test_reading_continues_while_records_are_added(journal: Journal) -> None:
    journal.record("event", "a", "first")
    for _ in journal:
        journal.record("event", "a", "second")
    assert len(journal) == 2


def test_watchers_see_each_record_until_they_stop(journal: Journal) -> None:
    seen: list[str] = []

    def once(entry: Record) -> None:
        seen.append(f"once {entry.summary}")
        stop_once()

    stop_once = journal.watch(once)
    stop = journal.watch(lambda entry: seen.append(entry.summary))
    journal.record("event", "a", "1")
    journal.record("event", "a", "2")
    stop()
    stop()
    journal.record("event", "a", "3")
    assert seen == ["once 1", "1", "2"]


def test_watchers_of_a_kind_see_no_other_kind(journal: Journal) -> None:
    seen: list[str] = []
    stop = journal.watch_kind("script", lambda entry: seen.append(entry.summary))
    journal.watch_kind("script", lambda entry: seen.append(f"other {entry.summary}"))
    journal.record("event", "a", "1")
    journal.end(journal.open("script", "a", "2"))
    stop()
    journal.record("script", "a", "3")
    assert seen == ["2", "other 2", "other 3"]


# --- formatted when read ------------------------------------------------------------------------------------


def test_a_detail_is_made_when_it_is_read_and_only_once(journal: Journal) -> None:
    made: list[int] = []

    def make() -> dict[str, object]:
        made.append(1)
        return {"value": "x"}

    journal.record("event", "a", "data_in", detail=make)
    journal.select("event")
    assert made == []
    for _ in range(2):
        assert next(iter(journal)).detail == {"value": "x"}
    assert "x" in journal.canonical()
    assert made == [1]


def test_the_records_of_a_batch_are_made_when_they_are_read_and_only_once(journal: Journal) -> None:
    made: list[int] = []

    def describe() -> list[tuple[str, dict[str, object], int]]:
        made.append(1)
        return [("data_in", {"value": "x"}, 33), ("datapoint", {"value": "y"}, 33)]

    journal.record_batch("event", "a", 2, describe, 66, cause=None)
    assert (len(journal), journal.select("request"), journal.select(actor="b"), made) == (2, [], [], [])
    found = list(journal)
    assert [(each.sequence, each.summary, each.detail) for each in found] == [
        (1, "data_in", {"value": "x"}),
        (2, "datapoint", {"value": "y"}),
    ]
    assert [journal.find(1), *journal.select("event", "a")] == [found[0], *found]
    assert made == [1]


def test_details_keep_their_arguments_until_they_are_read(journal: Journal) -> None:
    class Fussy:
        def __repr__(self) -> str:
            raise AssertionError("formatted too early")

    journal.record("call", "a", "x", detail={"parameters": Fussy()})
    journal.select("call", "a")
    assert len(journal) == 1


# --- canonical ----------------------------------------------------------------------------------------------


def lines(journal: Journal) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.canonical().splitlines()]


async def test_the_canonical_form_is_ordered_by_time_actor_and_cause(journal: Journal, clock: Clock) -> None:
    journal.record("event", "b", "1")
    journal.record("event", "a", "2")
    journal.record("event", "b", "3", cause=2)
    await clock.advance(1)
    journal.record("event", "a", "4", cause=1)
    assert [(line["actor"], line["summary"], line["cause"]) for line in lines(journal)] == [
        ("a#1", "2", None),
        ("b#1", "3", "a#1"),
        ("b#2", "1", None),
        ("a#2", "4", "b#2"),
    ]


def test_the_canonical_form_does_not_depend_on_who_ran_first(clock: Clock) -> None:
    texts = []
    for order in ("ab", "ba"):
        journal = Journal(clock.micros)
        for actor in order:
            cause = journal.record("request", actor, "POST", detail={"x": 1, "y": 2})
            journal.record("event", actor, "data_in", cause=cause, detail={"y": 2, "x": 1})
        texts.append(journal.canonical())
    assert texts[0] == texts[1]
    assert texts[0].count("\n") == 4


@pytest.mark.parametrize("lost", [0, 1])
def test_the_canonical_form_does_not_depend_on_which_of_two_handlers_was_first(
    clock: Clock, lost: int
) -> None:
    texts = []
    for order in (
        (0, 1, 0, 1),
        (1, 0, 0, 1),
        (0, 0, 1, 1),
        (1, 1, 0, 0),
    ):  # the handler that calls another next
        journal = Journal(clock.micros, capacity=7 - lost)
        root = journal.record("request", "lights", "POST")
        events = [journal.record("event", "lights", "ping", cause=root) for _ in range(2)]
        for number in order:
            journal.record("call", "home", f"of handler {number}", cause=events[number])
        texts.append(journal.canonical())
    assert set(texts) == {texts[0]}
    assert texts[0].count("\n") == 7 - lost


def test_the_canonical_form_of_a_long_chain(clock: Clock) -> None:
    journal = Journal(clock.micros)
    cause = None
    for _ in range(5000):
        cause = journal.record("event", "a", "x", cause=cause)
    assert [line["cause"] for line in lines(journal)] == [None, *(f"a#{n}" for n in range(1, 5000))]


def test_the_canonical_form_omits_what_differs_between_runs(journal: Journal) -> None:
    journal.record(
        "request", "a", "x", detail={"duration": 0.1, "port": 4711, "peer": "10.0.0.7:1", "kept": 1}
    )
    assert lines(journal)[0]["detail"] == {"kept": 1}


def test_the_canonical_form_omits_ports_of_the_lab(journal: Journal) -> None:
    journal.ports = (8443, 8080)
    url = "https://acme.apps.lab.localhost:8443/x?y=http://t.m2.lab.localhost:8080"
    journal.record("log", "a", url, detail={"url": [url], "other": "https://example.com:444/"})
    [line] = lines(journal)
    assert line["summary"] == "https://acme.apps.lab.localhost/x?y=http://t.m2.lab.localhost"
    assert line["detail"] == {"url": [line["summary"]], "other": "https://example.com:444/"}


def test_the_canonical_form_accepts_any_value_from_scripts(journal: Journal) -> None:
    journal.record(
        "call",
        "a",
        "Keystore.set",
        detail={"parameters": {2: "b", "x": [1.5, None, (True,)], 10: b"\xff", "deep": {1: {"k": 1}}}},
    )
    assert lines(journal)[0]["detail"]["parameters"] == {
        "10": "b'\\xff'",
        "2": "b",
        "deep": {"1": {"k": 1}},
        "x": [1.5, None, [True]],
    }


def test_the_cause_of_a_record_may_have_left_the_ring(journal: Journal) -> None:
    first = journal.record("request", "a", "x")
    for _ in range(5):
        journal.record("event", "b", "y", cause=first)
    assert {line["cause"] for line in lines(journal)} == {None}


@pytest.mark.parametrize("ahead", [0, 1, 10**14])
def test_a_cause_comes_before_what_it_leads_to(journal: Journal, ahead: int) -> None:
    first = journal.record("request", "p/a", "GET /")
    second = journal.open("request", "p/a", "GET /", cause=first + 1 + ahead)
    third = journal.record("event", "p/a", "data_in", cause=second.sequence)
    assert [each.cause for each in journal] == [None, None, second.sequence]
    assert third == 3


def test_a_cause_from_before_a_clear_is_omitted(journal: Journal) -> None:
    old = [journal.record("request", "p/a", "GET /") for _ in range(3)][-1]
    journal.clear()
    journal.record("event", "p/a", "data_in", cause=old)
    assert [each.cause for each in journal] == [None]


def test_secret_values_never_show(journal: Journal) -> None:
    journal.record("call", "a", "x", detail={"parameters": {"password": SecretStr("correct horse")}})
    assert "correct horse" not in journal.canonical() + repr(list(journal))


# --- bounds -------------------------------------------------------------------------------------------------


def kept_by(journal: Journal) -> int:
    """Return the bytes of all that the journal's records refer to."""
    gc.collect()
    found, waiting = {}, [*journal]
    while waiting:
        each = waiting.pop()
        if id(each) not in found and not isinstance(each, type | ModuleType | FunctionType):
            found[id(each)] = sys.getsizeof(each)
            waiting += gc.get_referents(each)
    return sum(found.values())


def emitted(points: list[tuple[str, str]]) -> dict[str, object]:
    return {"payload": dict(points)}


def large(n: int) -> str:
    return str(n) * 1_000_000


LARGE: dict[str, Callable[[int], Any]] = {
    "a text": lambda n: {"parameters": {"email": large(n)}},
    "a list": lambda n: {"parameters": {"list": [{"n": float(n)} for _ in range(50_000)]}},
    "a table": lambda n: {"parameters": {f"{n} {m}": float(m) for m in range(50_000)}},
    "a secret": lambda n: {"password": SecretStr(large(n))},
    "what makes a text": lambda n: partial(emitted, [("text", large(n))]),
    "what makes a table": lambda n: partial(emitted, [(f"{n} {m}", "x") for m in range(50_000)]),
}


@cases("kind", LARGE)
def test_a_large_value_is_cut_in_its_record(clock: Clock, kind: str) -> None:
    journal = Journal(clock.micros)
    for n in range(3):
        journal.record("call", "a", large(n), detail=LARGE[kind](n))
        journal.open("call", "a", "x").detail = LARGE[kind](n)
    assert kept_by(journal) < 6 * 100_000
    assert len(journal.canonical()) < 6 * 30_000
    assert "995,904 more characters" in journal.canonical()


def test_the_size_limit_is_a_setting(clock: Clock) -> None:
    journal = Journal(clock.micros, capacity=2, field=100)
    for _ in range(3):
        journal.record("log", "a", "x" * 101, detail={"text": "y" * 102})
    assert [entry.summary for entry in journal] == ["x" * 100 + "… 1 more character"] * 2
    assert [entry.detail for entry in journal] == [{"text": "y" * 100 + "… 2 more characters"}] * 2


def test_a_deferred_detail_is_cut_when_it_is_made(journal: Journal) -> None:
    journal.record("event", "a", "x", detail=lambda: {"text": "y" * 5000})
    assert next(iter(journal)).detail == {"text": "y" * 4096 + "… 904 more characters"}


def test_a_detail_that_would_keep_a_large_value_is_not_deferred(journal: Journal) -> None:
    for n in range(3):
        detail = partial(emitted, [("text", large(n))])
        journal.record("event", "a", "x", detail=detail, holds=1_000_000)
    assert kept_by(journal) < 3 * 100_000


def test_a_batch_that_would_hold_more_than_a_field_is_made_at_once(journal: Journal) -> None:
    made: list[str] = []

    def describe(text: str) -> list[tuple[str, dict[str, object], int]]:
        made.append(text[0])
        return [("x", {"text": text}, len(text))]

    journal.record_batch("event", "a", 1, partial(describe, "a" * 4096), 4096, cause=None)
    journal.record_batch("event", "a", 1, partial(describe, "b" * 4097), 4097, cause=None)
    assert made == ["b"]
    assert [entry.detail for entry in journal] == [
        {"text": "a" * 4096},
        {"text": "b" * 4096 + "… 1 more character"},
    ]


def test_batches_that_have_left_the_ring_are_freed(clock: Clock) -> None:
    journal = Journal(clock.micros, capacity=6)
    freed: list[int] = []
    for n in range(10):
        describe = partial(lambda n: [("x", {"n": n}, 1)] * 3, n)
        weakref.finalize(describe, freed.append, n)
        journal.record_batch("event", "a", 3, describe, 1, cause=None)
        del describe
    assert freed == list(range(8))
    assert [entry.detail for entry in journal] == [{"n": 8}] * 3 + [{"n": 9}] * 3
