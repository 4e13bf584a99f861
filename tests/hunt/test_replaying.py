"""Written plays against stories that have changed: some break again, some are mended, some test nothing any more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, LabkitError
from labkit.hunt import Draw, ReplayOutcome, Story, eventually, play, replay, story
from labkit.hunt.plays.breach import breach_of
from labkit.hunt.plays.written import WrittenPlay, read, written_play
from tests.lab.story_parts import Reports, product_of

UPDATES = """
local count = tonumber(Keystore.get{key = "ä"}.value or 0)
Keystore.set{key = "ä", value = count + 1}"""
TRIES = """
local count = tonumber(Keystore.get{key = "ä"}.value or 0)
for _ = 1, 3 do
    if not Keystore.set{key = "ä", value = count + 1}.error then return end
end"""
ADDS = 'Keystore.command{key = "ä", command = "incr"}'
REFUSED = (
    "call error",
    {"where": "Keystore.set", "solution": "shop", "scripts": True, "status": 503, "first": 1},
)
LATE = ("event late", {"where": "device datapoint", "product": "thermostat", "late": 1.0, "first": 1})
PART = ("event late", {"where": "device datapoint", "identity": ["t-0*2", "t-1"], "late": 1.0})
CUT = ("cut off", {"products": "thermostat", "after": 60, "seconds": 1})
ONE = ("cut off", {"devices": ["t-001"], "after": 60, "seconds": 1})


def told(
    script: str = UPDATES,
    *,
    shop: str = "shop",
    product: str = "thermostat",
    prefix: str = "t-",
    most: int = 3,
) -> Story:
    """Return a story in which two solutions count what the devices of two products write."""

    def counted(lab: Lab) -> None:
        for name in (shop, "bank"):
            found = lab.solution(name).Keystore.get(key="ä").get("value", 0)
            events = len(lab.journal.select("script", name))
            assert int(found) == events, f"{name} counted {found} of {events}"

    @story(promises=[eventually(counted, within=0)])
    def counts(lab: Lab, draw: Draw) -> None:
        products = [product_of(lab, name) for name in (product, "lamp")]
        for name in (shop, "bank"):
            lab.solution(name, products=products).on("device", "datapoint", lua=script)
        minutes = draw.number(1, most, label="minutes")
        runs = [each.fleet(2, Reports, prefix=prefix).start(minutes=minutes) for each in products]
        for run in runs:
            run.wait()

    return counts


def written(*faults: Any) -> WrittenPlay:
    """Return a play with these faults, as a hunt writes it."""
    played = play(told(), 5, faults=faults, values=[("minutes", 2)], check=False)
    breach = breach_of(told(), played)
    assert breach is not None
    assert all(played.hits), played.hits
    return written_play(told(), "stories.py::counts", played, breach, {})


def again(data: WrittenPlay, changed: Story) -> ReplayOutcome:
    """Replay, and check that a pytest function of the file fails unless the play is kept."""
    found = replay(data, story=changed, check=False)
    if found.state == "kept":
        assert replay(data, story=changed).text == found.text
    else:
        with pytest.raises(LabkitError) as raised:
            replay(data, story=changed)
        assert found.text in [str(raised.value), *getattr(raised.value, "__notes__", ())]
    json.dumps(found.as_dict())
    return found


def test_the_same_story_breaks_again() -> None:
    found = again(written(REFUSED), told())
    assert (found.state, found.is_exact, found.missed) == ("broken", True, ())


@pytest.mark.parametrize("faults", [[REFUSED], [REFUSED, LATE, CUT], [REFUSED, PART, ONE]])
def test_a_mended_solution_that_the_faults_hit_is_kept(faults: list[Any]) -> None:
    found = again(written(*faults), told(TRIES))
    assert (found.state, found.missed) == ("kept", ())
    assert found.text == "no longer breaks: eventually counted"
    assert all(each["hits"] for each in found.as_dict()["faults"])


def test_a_mended_solution_may_avoid_a_fault_while_others_hit() -> None:
    found = again(written(REFUSED, LATE), told(ADDS))
    assert found.state == "kept"
    missed = "call error, where Keystore.set, solution shop"
    assert found.text == f"no longer breaks: eventually counted; faults that hit nothing now: {missed}"
    assert [each["hits"] for each in found.as_dict()["faults"]] == [0, 1]


def test_a_mended_solution_that_avoids_all_faults_says_that_it_was_not_hit() -> None:
    found = again(written(REFUSED), told(ADDS))
    assert found.state == "kept"
    assert found.text == (
        "no longer breaks: eventually counted; but none of its faults hits anything now: call error, "
        "where Keystore.set, solution shop; hunt again"
    )


def test_a_promise_that_is_gone_is_not_kept() -> None:
    found = again(replace(written(REFUSED), breaks="another promise"), told(TRIES))
    assert found.state == "untested"
    assert found.text == (
        "cannot tell whether it still breaks another promise: its story has no promise of this name, or not under "
        "these faults; delete the file, and hunt again"
    )


@pytest.mark.parametrize(
    ("changes", "faults", "missed"),
    [
        (
            {"shop": "shopp"},
            [REFUSED],
            "solution shop (no solution 'shop', there are: shopp, bank; did you mean shopp?)",
        ),
        ({"shop": "store"}, [REFUSED, LATE], "solution shop (no solution 'shop', there are: store, bank)"),
        (
            {"product": "oven", "script": TRIES},
            [REFUSED, LATE],
            "event late, where device datapoint, product thermostat (no product 'thermostat', there are: ",
        ),
        (
            {"product": "oven", "script": TRIES},
            [REFUSED, CUT],
            "cut off, products thermostat (no product 'thermostat', there are: lamp, oven)",
        ),
        (
            {"prefix": "u", "script": TRIES},
            [REFUSED, PART],
            "identity t-0*2 t-1 (no device 't-0*2', there are: u001, u002",
        ),
        (
            {"prefix": "u", "script": TRIES},
            [REFUSED, ONE],
            "devices t-001 (no device 't-001', there are: u001, u002",
        ),
    ],
)
def test_a_fault_whose_place_is_gone_tests_nothing(changes: Any, faults: list[Any], missed: str) -> None:
    """One of two solutions, one of two products, or the devices, have new names: without it nothing breaks."""
    found = again(written(*faults), told(**changes))
    assert found.breach is None
    assert found.state == "untested"
    assert missed in "; ".join(found.missed)
    assert missed in found.text
    assert found.text.endswith("; name their new places in the file, or delete it and hunt again")


def test_an_operation_that_is_gone_tests_nothing() -> None:
    data = written(REFUSED)
    switch = ("call error", {"where": "Lights.switch", "status": 503})
    more = replace(data, faults=(*data.faults, switch), hits=(*data.hits, 2))
    found = again(more, told(TRIES))
    assert (found.state, "(no service 'Lights', there are: " in found.text) == ("untested", True)


def test_a_fault_that_never_did_hit_says_nothing() -> None:
    data = written(REFUSED)
    switch = ("call error", {"where": "Lights.switch", "status": 503})
    values_alone = replace(data, faults=(switch,), hits=(0,))
    assert again(values_alone, told(ADDS)).state == "kept"
    unknown = replace(values_alone, hits=())  # of a file of before: the service is not there
    assert again(unknown, told(ADDS)).state == "untested"


def test_a_play_without_faults_is_tested() -> None:
    data = replace(written(REFUSED), faults=(), hits=())
    assert again(data, told(ADDS)).state == "kept"


def test_an_error_of_the_story_itself_is_no_answer() -> None:
    found = again(written(REFUSED), told(shop=""))
    assert found.state == "failed"
    assert found.text.startswith(
        "cannot tell whether it still breaks eventually counted; mend this first: the story's own code ("
    )


def test_a_story_that_draws_otherwise_says_what_to_do() -> None:
    with pytest.raises(LabError, match=r"draws a number from 1 to 1,.*; delete the file, .* and hunt again$"):
        replay(written(REFUSED), story=told(most=1), check=False)


def test_values_that_the_story_discards_are_an_error() -> None:
    from hypothesis import assume

    @story
    def discards(lab: Lab, draw: Draw) -> None:
        assume(draw.number(0, 9) > 5)

    with pytest.raises(LabError, match="discards: the values given are no future of this story"):
        play(discards, 1, values=[(None, 3)])
    assert play(discards, 1, values=[(None, 7)]).error is None


def test_hits_are_written_and_read(tmp_path: Path) -> None:
    data = written(REFUSED, LATE)
    file = tmp_path / "test_x.py"
    file.write_text(data.text())
    assert '    "hits": [1, 1],\n' in data.text()
    assert read(file) == data
    file.write_text(data.text().replace('"hits": [1, 1]', '"hits": [1]'))
    with pytest.raises(LabError, match="expected a play with story"):
        read(file)


def test_a_file_names_itself_where_its_story_is_not_found(tmp_path: Path) -> None:
    data = replace(written(REFUSED), story="../stories.py::counts")
    file = tmp_path / "moved" / "test_x.py"
    file.parent.mkdir()
    text = (
        r"test_x\.py: it plays '\.\./stories\.py::counts', .* folder; \.\./stories\.py: there is no such file"
    )
    with pytest.raises(LabError, match=text):
        replay(data, beside=file)
    (tmp_path / "stories.py").write_text(
        "from labkit.hunt import story\n@story\ndef count(lab, draw):\n    pass\n"
    )
    with pytest.raises(
        LabError, match=r"moved/test_x\.py: .*no story 'counts', there are: count; did you mean count"
    ):
        replay(data, beside=file)
