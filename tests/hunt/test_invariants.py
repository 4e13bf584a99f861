"""Ready promises about what follows, is fresh, conserved, growing, rare and unique: each with two twins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.control.journal import Entry
from labkit.hunt import (
    Draw,
    DrawnFault,
    Promise,
    at_most,
    conserved,
    hunt,
    monotone,
    never_twice,
    nothing_older,
    story,
    within,
)
from labkit.hunt.story import Act
from tests.hunt.judged import ALIAS, Writes, home, judged
from tests.hunt.test_ready_promises import START, GivesUp

LATE = "call 200 app Keystore.set: not followed within 50 s: its check returned False"
WRONG: Any = len
CALL = {"kind": "call", "actor": "app", "summary": "Keystore.set"}


def ledger(wrong: str) -> Act:
    """Return a story of a payment, a version and an alarm a minute. wrong: what happens in the fourth minute."""

    def act(lab: Lab, draw: Draw) -> None:
        app = lab.solution("app")
        for minute in range(8):
            odd = wrong if minute == 3 else ""
            app.Keystore.command(key="a", command="decrby", args=[1])
            if odd != "lost":
                app.Keystore.command(key="b", command="incrby", args=[1])
            app.Keystore.set(key="version", value=str(1 if odd == "older" else minute))
            for _ in range(2 if odd == "twice" else 1):
                app.Keystore.set(key=f"alarm {minute}", value="1")
            if odd != "unanswered":
                app.Keystore.set(key=f"answer {minute}", value="1")
            lab.wait(seconds=60)

    return act


def number(lab: Lab, key: str) -> int | None:
    found = lab.solution("app").Keystore.get(key=key).get("value")
    return None if found is None else int(found)


def money(lab: Lab) -> int | None:
    a, b = number(lab, "a"), number(lab, "b")
    return None if a is None or b is None else a + b


def version(lab: Lab) -> int | None:
    return number(lab, "version")


def alarm(record: Entry) -> str | None:
    key = str(record.detail["parameters"]["key"])  # type: ignore[index]
    return key if key.startswith("alarm") else None


def answered(lab: Lab, record: Entry) -> bool:
    key = alarm(record)
    return key is None or number(lab, key.replace("alarm", "answer")) == 1


@pytest.mark.parametrize(
    ("make", "wrong", "reason", "at"),
    [
        (lambda: within(50, answered, after=CALL), "unanswered", LATE, 230),
        (lambda: conserved(money, 30), "lost", "the total is -1, and was 0 at first", 270),
        (lambda: monotone(version), "older", "fell from 2 to 1", 180),
        (lambda: at_most(3, of=CALL), "twice", "4 records within 60 s; at most 3 are allowed", 180),
        (
            lambda: never_twice(alarm, of=CALL),
            "twice",
            "'alarm 3' is there twice: call 200 app Keystore.set",
            180,
        ),
    ],
)
def test_a_right_and_a_wrong_twin(make: Callable[[], Promise], wrong: str, reason: str, at: float) -> None:
    assert judged(ledger(""), make()).state == "kept"
    verdict = judged(ledger(wrong), make())
    assert (verdict.state, verdict.reason, verdict.at) == ("broken", reason, START + at)
    assert judged(lambda lab, draw: lab.wait(minutes=5), make()).state == "untested"


def test_copies_may_be_old_as_long_as_a_fault_lasts() -> None:
    """And as long after it as they may be old."""

    def copies(lab: Lab) -> dict[str, float]:
        found = lab.sql("select max(timestamp) as time from datapoint where alias = 'temperature'")["time"][0]
        return {} if found is None else {"temperature": float(found)}

    def act(behaviour: type[Writes], minutes: int) -> Act:
        def told(lab: Lab, draw: Draw) -> None:
            home(lab)[0].fleet(1, behaviour).start(hours=1)
            lab.wait(minutes=minutes)

        return told

    fault = DrawnFault("request error", {"where": ALIAS, "status": 503, "after": 60, "seconds": 180})
    promise = nothing_older(120, copies)
    assert judged(act(Writes, 15), promise, fault).state == "kept"
    assert judged(act(GivesUp, 5), promise, fault).state == "kept"
    verdict = judged(act(GivesUp, 15), promise, fault)
    assert (verdict.state, verdict.at) == ("broken", START + 240 + 120)
    assert verdict.reason.startswith("temperature is ")


@story(
    promises=[
        monotone(version),
        conserved(money),
        within(50, answered, after=CALL),
        never_twice(alarm, of=CALL),
    ]
)
def told(lab: Lab, draw: Draw) -> None:
    ledger("lost")(lab, draw)


@pytest.mark.usefixtures("forks")
def test_they_travel_to_workers() -> None:
    found = hunt(told, 3, level="calm", workers=1, stop="never", shrink=0, progress=False)
    assert {name: dict(states) for name, states in found.promises.items()} == {
        "monotone version": {"kept": 3},
        "conserved money": {"broken": 3},
        "within 50 s after kind=call, actor=app, summary=Keystore.set": {"kept": 3},
        "never_twice alarm": {"kept": 3},
    }


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: within(0, answered, after=CALL), "within: seconds: expected seconds, above 0, not 0"),
        (
            lambda: within(1, WRONG, after=CALL),
            "within: len: expected a function of 2 arguments, the lab and the record",
        ),
        (lambda: within(1, answered, after=3), "within: after: expected conditions such as .*, not 3"),  # type: ignore[arg-type]
        (lambda: at_most(1, of={"knd": "call"}), "at_most: of: no condition 'knd', .*did you mean kind"),
        (lambda: at_most(1, of={}), "at_most: of: expected a condition"),
        (lambda: at_most(True, of=CALL), "at_most: most: expected a number of records, not True"),
        (lambda: never_twice("key", of=CALL), "never_twice: expected a function of the record, not 'key'"),  # type: ignore[arg-type]
        (lambda: conserved(3), "conserved: expected a function of the lab, not 3"),  # type: ignore[arg-type]
        (lambda: monotone(money, every=0), "monotone: every: expected seconds, above 0, not 0"),
    ],
)
def test_wrong_arguments(make: Any, text: str) -> None:
    with pytest.raises(LabError, match=text):
        make()


def test_an_error_names_its_line_and_missing_records_are_told() -> None:
    def wrong(lab: Lab, record: Entry) -> bool:
        raise KeyError("x")

    verdict = judged(ledger(""), within(50, wrong, after=CALL))
    assert verdict.state == "failed"
    assert verdict.reason.startswith("its check raised KeyError: 'x' (test_invariants.py:")
    verdict = judged(ledger(""), within(50, answered, after=CALL), journal={"records": 2})
    assert (verdict.state, verdict.reason[:24]) == ("failed", "the journal lacks record")
    verdict = judged(ledger(""), monotone(lambda lab: {"y": 1}["x"]))
    assert verdict.reason.startswith("its check raised KeyError: 'x' (test_invariants.py:")
