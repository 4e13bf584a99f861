"""Menus of faults: what is drawn, that labs accept it, that it hits, and that plays with it repeat exactly."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies
from hypothesis import seed as with_seed

from labkit import Lab, LabError, UnknownError
from labkit.hunt import Draw, DrawnFault, Menu, Story, play, story
from labkit.hunt.faults.drawn_faults import NEVER, PutFaults
from labkit.hunt.faults.recipes import ORDERS, RECIPES
from labkit.hunt.faults.sites import FaultSite, Sites
from labkit.hunt.faults.sizes import CHANCES, OFTEN, size_table
from labkit.hunt.kinds import GROUPS, KINDS, MEANINGS
from labkit.hunt.plays.future import PlayPlan
from labkit.hunt.plays.levels import calm_sites, fault_source
from labkit.hunt.plays.player import play_seed, supply_of
from labkit.hunt.promises.promise import Promise, Watch
from labkit.reference import hunt_faults
from tests.hunt import shop, stories
from tests.hunt.hunted import whole
from tests.lab.story_parts import product_of
from tests.replays import busy_process, elsewhere
from tests.sizes import size

ROOT = Path(__file__).parents[2]
ORDER = frozenset(GROUPS["order"])
NAMES = ("t-001", "it's \"#*/é", "*", "x" * 64)


class Bears(Promise):
    """Promise that always holds under some kinds of faults."""

    def __init__(self, *kinds: str) -> None:
        self.name = f"bears {kinds}"
        self.under = frozenset(kinds)

    def watch(self, lab: Lab) -> Watch:
        raise AssertionError


@pytest.fixture(scope="module")
def places() -> Sites:
    return calm_sites(shop.shop, {})


@pytest.fixture(scope="module")
def lab(places: Sites) -> Any:
    with Lab(seed=7) as lab:
        yield lab


def lengths(fault: DrawnFault) -> tuple[float, float]:
    """Return when a fault begins, and when it and its effect are over."""
    given = fault.settings
    after = given.get("after", 0.0)
    waits = given.get("delay", given.get("late", given.get("down", 0.0)))
    lasting = given.get("seconds", 0.0) if fault.kind != "wrong clock" else 0.0
    return after, after + lasting + waits


def test_every_kind_has_a_recipe_and_a_place_in_the_stories(places: Sites) -> None:
    assert [{*RECIPES}, {*ORDERS}, {*MEANINGS}] == [{*KINDS - ORDER}, {*ORDER}, {*KINDS}]
    sites = {
        shop.shop: places,
        **{each: calm_sites(each, {}) for each in (shop.meter, shop.chat)},
    }
    assert [
        kind for kind, each in {**RECIPES, **ORDERS}.items() if not each.sites(sites[shop.story_of(kind)])
    ] == []
    assert [each.where for each in sites[shop.meter].programs] == ["t-001"]
    assert [(each.where, each.solution) for each in sites[shop.chat].messages] == [
        ("WEBSOCKET /rooms/* received", "acme"),
        ("WEBSOCKET /rooms/* sent", "acme"),
    ]
    assert len(sites[shop.meter].programs[0].moments) > 5
    assert (places.programs, sites[shop.meter].devices) == ((), ())
    assert places.seconds == 605
    assert {each.where for each in places.outgoing} == {
        "GET https://google.social.*/oauth2/v3/userinfo",
        "POST https://google.social.*/token",
        "POST https://messaging.*/v1/Services/*/Notifications",
    }
    assert {(each.where, each.given and each.given["command"]) for each in places.quotas} == {
        ("Keystore.command", "incr"),
        ("Keystore.set", None),
        ("Lights.light", None),
    }
    own = {each.where for each in places.calls}
    assert "Notify.send" in own
    assert "Notify.createBinding" not in own  # a call of the story itself
    assert {(each.product, each.identities) for each in places.devices} == {
        ("lamp", ("t-001", "t-002", "t-003")),
        ("thermostat", ("t-001", "t-002", "t-003")),
    }


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_each_kind_hits_and_repeats_exactly_in_another_process_beside_a_busy_one() -> None:
    with busy_process(), elsewhere("tests.hunt.shop") as printed:
        here = shop.plays()
        assert printed() == here
    assert set(here) == KINDS
    assert {kind for kind, played in here.items() if not any(played["hits"])} == set()


def test_the_page_of_faults_has_each_kind_and_each_level() -> None:
    page = (ROOT / "notebooks/book/how-to/faults-that-a-hunt-draws.md").read_text()
    rows = [
        f"| `{group}` | `{kind}` | {MEANINGS[kind]} |" for group, kinds in GROUPS.items() for kind in kinds
    ]
    assert "\n".join(rows) in page
    assert size_table() in page
    assert OFTEN in " ".join(page.split())
    entries = {each.name: each.body for reference in hunt_faults.pages() for each in reference.entries}
    assert set(entries) == KINDS


def test_devices_with_odd_identities_and_what_no_device_did() -> None:
    @story
    def odd(lab: Lab, draw: Draw) -> None:
        product = product_of(lab)
        product.device("a/b#1 é*").activate().write(temperature=1)
        app = lab.solution("app", products=[product])
        app.route("GET", "/timestamp", lambda services: services.Keystore.get(key="a"))
        app.get("/timestamp")
        app.Keystore.set(key="a", value="1")
        lab.wait(seconds=10)

    found = calm_sites(odd, {})
    assert [each.where for each in found.calls] == ["Keystore.get"]
    assert {(each.product, each.where, each.identities) for each in found.requests} >= {
        ("thermostat", "POST /onep:v1/stack/alias", ("a/b#1 é*",))
    }
    given = {
        "where": "POST /onep:v1/stack/alias",
        "product": "thermostat",
        "identity": ["a/b#1 é*"],
        "status": 503,
    }
    played = play(odd, 1, check=False, faults=[("request error", given)])
    assert (played.hits, "503" in str(played.error)) == ((1,), True)


def odd_sites() -> Sites:
    """Return places with odd names in several products and solutions."""
    moments = (0.0, 1.000001, 60.0, 400.0)
    products, solutions = ("thermostat", "lamp"), ("home", "app-2")
    requests = tuple(
        FaultSite(where, product, None, NAMES, moments, has_body=True)
        for product in products
        for where in ("POST /onep:v1/stack/alias", "GET /provision/download")
    )
    calls = tuple(
        FaultSite(name, None, each, (), moments) for each in solutions for name in ("A.b", "Keystore.set")
    )
    events = tuple(
        FaultSite("device datapoint", each, one, NAMES, moments) for each in products for one in solutions
    )
    quotas = (*calls, FaultSite("Keystore.command", None, "home", (), moments, given={"command": "incr"}))
    steps = {
        "messaging bindings": "POST /v1/Services/*/Bindings",
        "x-1 request_token": "POST /r",
        "google token": "POST /t",
    }
    providers = tuple(
        FaultSite(f"provider {name}", moments=moments, request=request, host=f"{name.partition(' ')[0]}.*")
        for name, request in steps.items()
    )
    outgoing = (
        FaultSite("GET https://a.example/*", moments=moments),
        FaultSite("* https://*/x", moments=moments),
    )
    devices = tuple(FaultSite("", each, None, NAMES * 200, moments) for each in products)
    programs = tuple(FaultSite(name, moments=moments) for name in ("t-001", "dös 2"))
    return Sites(600.0, requests, calls, events, outgoing, providers, quotas, devices, programs, solutions)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_lab_accepts_whatever_is_drawn(kind: str, lab: Lab, recwarn: pytest.WarningsRecorder) -> None:
    """All within 60 % of the story's time, and plain data."""
    menus = [
        Menu(level, kinds=kind, sites=each)
        for level in ("rough", "wild")
        for each in (
            odd_sites(),
            Sites(0.0, *[getattr(odd_sites(), name) for name in list(vars(odd_sites()))[1:]]),
        )
    ]

    @settings(
        max_examples=size(20, 500), deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(data=strategies.data(), menu=strategies.sampled_from(menus))
    def check(data: Any, menu: Menu) -> None:
        assert menu.sites is not None
        faults = menu.faults(Draw(data.draw), ())
        assert len(faults) <= (menu.most or 0) + len(ORDER)
        assert json.loads(json.dumps([each.settings for each in faults])) == [
            each.settings for each in faults
        ]
        with lab.story():
            put = PutFaults(lab, faults)
            assert put.end() == NEVER
        assert put.hits == (0,) * len(faults)
        for each in faults:
            assert each.kind == kind
            each.check()
            began, over = lengths(each)
            assert began <= 0.6 * menu.sites.seconds + 0.001
            assert over <= max(0.6 * menu.sites.seconds, 0.001) + 0.001, each

    check()
    assert (len(lab.faults), len(lab.device_faults)) == (0, 0)
    assert [each for each in recwarn if issubclass(each.category, UserWarning)] == []


def test_a_menu_shrinks_to_nothing_or_to_one_simple_fault(places: Sites) -> None:
    found: list[tuple[DrawnFault, ...]] = []

    @with_seed(1)
    @settings(
        max_examples=1000,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.data())
    def check(data: Any) -> None:
        faults = Menu("wild", sites=places).faults(Draw(data.draw), ())
        if any(each.kind == "event doubled" for each in faults):
            found.append(faults)
            raise AssertionError

    with pytest.raises(AssertionError):
        check()
    [fault] = found[-1]
    assert fault.settings == {
        "where": "device datapoint",
        "product": "lamp",
        "identity": ["t-001"],
        "solution": "home",
        "doubled": True,
        "after": 5.0,
        "first": 1,
        "seconds": 358.0,
    }


def drawn(menu: Menu, promises: tuple[Promise, ...]) -> list[tuple[DrawnFault, ...]]:
    """Return the faults of some plays."""
    found: list[tuple[DrawnFault, ...]] = []

    @settings(database=None)
    @given(strategies.data())
    def collect(data: Any) -> None:
        found.append(menu.faults(Draw(data.draw), promises))

    for seed in range(80):
        collect.hypothesis.fuzz_one_input(supply_of(seed))  # type: ignore[attr-defined]
    return found


def test_a_play_has_faults_of_one_promise_alone(places: Sites) -> None:
    promises = (Bears("request lost", "restart"), Bears("event late", "event doubled"), Bears())
    kinds = [
        frozenset(each.kind for each in faults) for faults in drawn(Menu("wild", sites=places), promises)
    ]
    assert all(any(each <= promise.under for promise in promises) for each in kinds)
    assert frozenset.union(*kinds) == {"request lost", "restart", "event late", "event doubled"}
    assert drawn(Menu("wild", sites=places), (Bears(), Bears("provider"))) == [()] * len(kinds)
    ordered = drawn(Menu("calm", sites=places), (Bears(*ORDER), Bears("restart")))
    assert {frozenset(each.kind for each in faults) for faults in ordered} == {
        frozenset(),
        frozenset({"overlap"}),
        frozenset({"handler order"}),
        ORDER,
    }


def test_levels_and_menus_of_ones_own(places: Sites) -> None:
    faults = KINDS - ORDER
    calm, rough, wild = (drawn(Menu(level, faults, sites=places), ()) for level in ("calm", "rough", "wild"))
    assert {each for each in calm if each} == set()
    assert max(map(len, rough)) == 3
    assert 5 <= max(map(len, wild)) <= 8
    assert {each.kind for faults in drawn(Menu("calm", sites=places), ()) for each in faults} == ORDER
    own = drawn(Menu(kinds=("restart", "devices"), most=1, longest=30, sites=places), ())
    assert max(map(len, own)) == 1
    kinds = {each.kind for faults in own for each in faults}
    assert kinds == {"restart", *GROUPS["devices"]}
    assert all(
        abs(each.settings.get("seconds", 0)) <= 30 or each.kind == "wrong clock"
        for faults in own
        for each in faults
    )


LIMITS: dict[str, dict[str, Any]] = {
    "calls": {"where": ["Keystore.*", "!*.set"], "delay": (0.5, 2)},
    "call error": {"solution": "home"},
    "overlap": {"calls": (0.001, 0.05), "in_step": False},
    "devices": {"product": "lamp"},
    "request delay": {"delay": 1},
}


def test_how_often_and_how_long_faults_hit(places: Sites) -> None:
    """A part fails for longer than an outage lasts, and for no longer than a menu says."""
    for level, longest, partial, clock in (("rough", 60, 358, 300), ("wild", 298, 358, 86400)):
        faults = [
            each
            for play in drawn(Menu(level, ("event lost", "wrong clock"), sites=places), ())
            for each in play
        ]
        lost = [each.settings for each in faults if each.kind == "event lost"]
        parts = [each for each in lost if "chance" in each or "every" in each]
        assert max(each["seconds"] for each in parts) == partial
        assert max(each["seconds"] for each in lost if each not in parts and "first" not in each) == longest
        for name, allowed in (("first", range(1, 11)), ("every", range(2, 11)), ("chance", CHANCES)):
            found = {each[name] for each in lost if name in each}
            assert found <= {*allowed}
            assert len(found) > 3
        clocks = {each.settings["seconds"] for each in faults if each.kind == "wrong clock"}
        assert (max(clocks), min(clocks)) == (clock, -clock)
    for menu in (Menu(longest=20, sites=places), Menu(longest=40, partial=20, sites=places)):
        settings = [each.settings for faults in drawn(menu, ()) for each in faults]
        assert max(each["seconds"] for each in settings if {"chance", "every"} & {*each}) == 20


def test_limits_of_places_and_settings(places: Sites) -> None:
    """In a menu, in a promise, and in both, where each narrows the other; a promise is not judged beyond them."""

    class Narrow(Bears):
        def __init__(self) -> None:
            self._take("narrow", LIMITS)

    both = Menu("wild", "calls", sites=places, without=["call error after"])
    found = {
        "menu": drawn(Menu("wild", LIMITS, sites=places), ()),
        "promise": drawn(Menu("wild", sites=places), (Narrow(),)),
        "both": drawn(both, (Narrow(),)),
    }
    of_all = [each for faults in found["menu"] for each in faults]
    assert found["promise"] == found["menu"]
    assert {each.kind for each in of_all} == {
        "call delay",
        "call error",
        "call error after",
        "overlap",
        "request delay",
    } | (set(GROUPS["devices"]))
    assert {each.kind for faults in found["both"] for each in faults} == {"call delay", "call error"}
    for each in of_all:
        given = each.settings
        assert Narrow().bears(each.kind, given)
        if each.kind in GROUPS["calls"]:
            assert given["where"].startswith("Keystore.")
            assert given["where"] != "Keystore.set"
            assert 0.5 <= given.get("delay", 1) <= 2
        assert each.kind != "call error" or given["solution"] == "home"
        assert each.kind != "overlap" or (given["in_step"], max(given["calls"])) == (False, 0.05)
        assert each.kind not in GROUPS["devices"] or given["products"] == "lamp"
        assert each.kind != "request delay" or given["delay"] <= 1
    assert not Narrow().bears("call delay", {"where": "Notify.send", "delay": 1})
    assert not Narrow().bears("overlap", {"calls": [0.5, 5.0], "in_step": False})
    steps = drawn(Menu("calm", "order", sites=places, without="in_step"), ())
    assert {each.settings["in_step"] for faults in steps for each in faults if each.kind == "overlap"} == {
        False
    }
    assert str(Menu("calm", {"overlap": LIMITS["overlap"], "events": {}})) == (
        "calm, events, overlap (calls 0.001 0.05; in_step False)"
    )


def test_what_a_story_leaves_out_is_not_drawn() -> None:
    told = story(without=["in_step", "calls"])(shop.shop.function)
    source = fault_source("wild", told, {})
    assert isinstance(source, Menu)
    assert not source.choice.kinds & set(GROUPS["calls"])
    assert not source.choice.allows("overlap", {"in_step": True})


def test_wrong_menus(places: Sites) -> None:
    for kinds, text in {
        "calls.dela": "call delay: no setting 'dela', .*did you mean delay",
        "call delay.delay": "call delay: delay: expected seconds, or two numbers of them in order, not \\[2, 1\\]",
        "overlap.in_step": "overlap: in_step: expected True or False, not \\[2, 1\\]",
        "call delay.where": "call delay: where: expected a pattern or several, not \\[2, 1\\]",
    }.items():
        name, setting = kinds.split(".")
        with pytest.raises(LabError, match=text):
            Menu(kinds={name: {setting: [2, 1]}})
    with pytest.raises(LabError, match=r"calls: expected its limits, such as .*, not 3"):
        Menu(kinds={"calls": 3})
    with pytest.raises(UnknownError, match="no kind of fault 'in_stp'"):
        story(without="in_stp")(shop.shop.function)
    with pytest.raises(UnknownError, match="no level 'ruff', there are: calm, rough, wild"):
        Menu("ruff")
    with pytest.raises(UnknownError, match="no kind of fault 'requets'"):
        Menu(kinds="requets")
    with pytest.raises(LabError, match="most: expected a number of faults, 0 to 100, not -1"):
        Menu(most=-1)
    with pytest.raises(LabError, match="longest: expected seconds, 0 to 86400, not -2"):
        Menu(longest=-2)
    with pytest.raises(LabError, match="partial: expected seconds, 0 to 86400, not -3"):
        Menu(partial=-3)
    with pytest.raises(LabError, match="a menu needs the places of its story"):
        Menu().faults(Draw(lambda strategy, label=None: 0), ())
    with pytest.raises(UnknownError, match="no level 'mild'"):
        play(stories.counter, 1, level="mild")
    with pytest.raises(LabError, match="go without a level"):
        play(stories.counter, 1, level="calm", faults=[("restart", {})])


@pytest.mark.sampled
@pytest.mark.timeout(300)
@pytest.mark.parametrize("told", stories.STORIES, ids=lambda told: told.name)
def test_plays_with_drawn_faults_repeat_and_their_faults_are_data(told: Story) -> None:
    source = fault_source("wild", told, {})
    copy = pickle.loads(pickle.dumps(source))  # as it goes to workers
    for seed in range(size(2, 30)):
        first = play_seed(PlayPlan(told, {}, source), seed)
        again = play_seed(PlayPlan(told, {}, copy), seed)
        assert first is not None
        assert again is not None
        assert whole(again) == whole(first)
        data = json.loads(json.dumps([[each.kind, each.settings] for each in first.faults]))
        again = play(
            told, seed, check=False, faults=[(kind, given) for kind, given in data], values=first.drawn
        )
        assert (again.journal, again.faults, again.hits) == (first.journal, first.faults, first.hits)


def test_a_play_of_a_level() -> None:
    plays = [play(stories.outage, 4, level="wild", check=False) for _ in range(2)]
    assert plays[0] == plays[1]
    assert plays[0].faults
    assert len(plays[0].hits) == len(plays[0].faults)
    assert play(stories.outage, 4, level=Menu("wild")).journal == plays[0].journal
    assert play(stories.outage, 4, level="calm").faults == ()  # it has no handlers that could overlap
    assert play(stories.outage, 4, level="calm").journal == play(stories.outage, 4).journal


def test_calm_plays_of_a_story_that_discards_values() -> None:
    @story
    def discards(lab: Lab, draw: Draw) -> None:
        from hypothesis import assume

        assume(draw.number(0, 9) > 4)
        lab.wait(seconds=100)

    assert calm_sites(discards, {}).seconds == 100
    assert fault_source("rough", discards, {}) == Menu(sites=calm_sites(discards, {}))

    @story
    def never(lab: Lab, draw: Draw) -> None:
        from hypothesis import assume

        assume(draw.number(0, 9) > 9)

    with pytest.raises(LabError, match="never: the values of 10 seeds are no future of this story"):
        calm_sites(never, {})
