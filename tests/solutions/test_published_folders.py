"""Solutions in the form of published ones: what `labkit check` says of them is true, and each runs for a lab day."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from labkit import Lab
from labkit.cli import main
from labkit.lab.device import Device
from labkit.lab.solution import Solution
from labkit.settings import load_folder

FOLDERS = Path(__file__).parent / "folders"
STEPS, STEP = 144, 600  # a device writes each ten minutes
ANN = {"email": "ann@example.com", "name": "Ann", "password": "correct horse"}
BACK = "https://client.example/back"
ADDS = "; `stubs` in lab.yaml, or lab.service, can add it"
SUBSCRIBES = (
    "unless the solution subscribes to one of this name; there are: config, device, device2, interface, scripts, "
    "timer, user, webservice, websocket"
)
FINDINGS = {  # by folder
    "weather_station": [f"services/timer/timer.lua:5: no service has the name 'Forecasts'{ADDS}"],
    "pump_portal": [
        f"routes/pumps.lua:5: no service has the name 'Pumps'{ADDS}",
        f"services/pumps_flooded.lua:1: no service of this lab emits events of 'pumps', {SUBSCRIBES}",
    ],
}


@dataclass
class Day:
    """A solution, and a device of its product."""

    lab: Lab
    solution: Solution
    device: Device

    def passes(
        self,
        values: Callable[[int], dict[str, object]] = lambda step: {},
        hourly: Callable[[int], object] = lambda hour: None,
    ) -> None:
        """Have the device write each ten minutes, and people act at the end of each hour."""
        for step in range(STEPS):
            if written := values(step):
                self.device.write(written)
            self.lab.clock.advance(STEP)
            if step % 6 == 5:
                hourly(step // 6)

    def ask(self, path: str, method: str = "GET", token: str = "", **options: Any) -> Any:
        """Return the value of a route's answer: of JSON, or the place of a redirect."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = self.solution.request(method, path, headers=headers, **options)
        return answer.headers["Location"] if answer.is_redirect else answer.json()

    def kept(self, key: str, command: str, *args: object) -> Any:
        return self.solution.Keystore.command(key=key, command=command, args=args)["value"]


def weather_station(day: Day) -> None:
    day.lab.service("Forecasts", current=lambda station, units: {"station": station, "units": units})
    day.passes(lambda step: {"temperature": step % 24, "wind": 3})
    assert day.kept("forecast.s1", "llen") == 24
    assert day.kept("days", "get") == "1"
    assert day.ask("/stations/s1/mean") == [["2026-03-02T00:00:00Z", {"avg": 11.5, "count": 144}]]
    assert day.device.read("period") == {"period": "600"}
    day.solution.put("/stations/s1/period", json={"seconds": 60})
    station = day.ask("/stations/s1")
    assert (station["period"]["set"], station["tags"]) == ("60", [{"name": "site", "value": "roof"}])


def pump_product(day: Day) -> None:
    portal = day.lab.solution(
        "portal",
        path=FOLDERS / "pump_portal",
        products="pumpproduct",
        subscriptions=[{"publisher": "pumpproduct", "script_key": "pumps"}],
    )
    day.passes(lambda step: {"flow": 100 if step == 70 else 1})
    assert day.device.read("valve") == {"valve": "shut"}
    assert portal.post("/pumps/s1/valve", json={"valve": "open"}).status_code == 204
    assert day.device.read("valve") == {"valve": "open"}
    answer = portal.get("/pumps/s1", headers={"X-API-KEY": "mine"})
    assert answer.json() == {"seen": day.lab.clock.time * 1e6 - STEP * 1e6, "litres": 2430, "flooded": ["s1"]}
    assert answer.headers["X-Frame-Options"] == "DENY"


def fleet_tracker(day: Day) -> None:
    day.passes(lambda step: {"speed": 130 if step % 12 == 0 else 50.5, "position": f"52.{step},13"})
    tracker = {"sn": "s1", "pid": "fleettracker", "position": "52.143,13", "speed": "50.5", "fast": 12}
    assert day.ask("/trackers") == [tracker]
    assert day.ask("/trackers/s1/speed") == {"count": STEPS, "most": 130}
    assert day.ask("/trackers/s1/door", "POST", json={"state": "open"}) == {"door": "ok"}
    assert day.device.read("door") == {"door": "open"}
    assert day.ask("/trackers/s1/door")["result"][0][1] == "open"
    assert day.ask("/notes") == ["s1 is too fast"] * 10
    assert "<title>Fleet" in day.solution.get("/").text


def chat(day: Day) -> None:
    with day.solution.websocket("/talk/lobby") as ann, day.solution.websocket("/talk/lobby") as ben:
        day.passes(
            lambda step: {"ring": step} if step % 72 == 0 else {},
            lambda hour: (ann if hour % 2 else ben).send({"from": "ann", "text": str(hour)}),
        )
        heard = ann.messages()
        assert (heard, len(heard)) == (ben.messages(), 1 + 2 + 24)
        assert [json.loads(each) for each in heard] == [{"welcome": "lobby"}, *day.ask("/rooms/lobby")]
        assert day.ask("/rooms/lobby/people") == {"count": 2, "speakers": "speaker"}
        assert day.ask("/rooms/lobby/people", "DELETE") == {"closed": 2}
    assert day.kept("sockets.lobby", "scard") == 0


def meter(day: Day) -> None:
    day.passes(lambda step: {"power": 100 + step, "energy": step / 10, "report": "fine"})
    basic = base64.b64encode(f":{day.device.credentials.token}".encode()).decode()
    answer = day.device.request(
        "POST",
        "/onep:v1/stack/alias",
        credentials=False,
        headers={"Authorization": f"Basic {basic}", "Content-Encoding": "gzip"},
        content=gzip.compress(b"energy=15&unknown=1"),
    )
    assert answer.status_code == 204
    usage = day.ask("/meters/s1/usage")["values"]
    assert (len(usage), [each["count"] for each in usage[3][1:]], usage[3][2]["max"]) == (24, [6, 6], 12.5)
    day.lab.clock.advance(hours=12)
    assert 72 <= day.ask("/meters/s1/points")["count"] <= 72 + 2  # a hundredth of a day later at most
    assert day.ask("/meters")["last"] == [["2026-03-03T00:00:00Z", 15, {"sn": "s1"}]]


def front_door(day: Day) -> None:
    redirect = day.solution.url("/social/google")
    keys = {"client_id": "front-door", "client_secret": "front-door-secret"}
    google = day.lab.provider(
        "google", people=[{"id": "ann", "email": ANN["email"]}], applications=[keys | {"redirect": redirect}]
    )
    assert google.login(day.solution.url("/social/google/login"), as_="ann").json()["email"] == ANN["email"]
    day.solution.User.activateUser(code=day.solution.User.createUser(**ANN))
    token = day.ask("/session", "POST", json=ANN)["token"]
    client = day.ask("/clients", "POST", token, json={"name": "Lamp", "redirect": BACK})
    asked = {"client_id": client["client_id"], "redirect_uri": BACK}
    code = parse_qs(urlsplit(day.ask("/oauth/approve", "POST", token, data=asked)).query)["code"][0]
    given = {"grant_type": "authorization_code", "code": code, **client, "redirect_uri": BACK}
    sets = [day.ask("/oauth/token", "POST", data=given)]

    def refresh(hour: int) -> None:
        assert day.ask("/me", token=sets[-1]["access_token"]) == {"name": "Ann"}
        refreshed = {"grant_type": "refresh_token", "refresh_token": sets[-1]["refresh_token"]}
        sets.append(day.ask("/oauth/token", "POST", data=refreshed | client))

    day.passes(hourly=refresh)
    assert (len(sets), day.ask("/me", token=sets[-1]["access_token"])) == (25, {"name": "Ann"})
    assert day.kept("accounts.create", "get") == "1"


def night_shift(day: Day) -> None:
    gates = day.lab.solution("gates")
    gates.route("GET", "/state", lua="return {hour = request.parameters.hour, open = 'north'}")
    day.solution.Keystore.set(key="gates", value=gates.url("/state"))
    day.passes()
    shift = day.ask("/shift")
    assert (shift["shift"], shift["double"], shift["sandbox"]) == ({"begun": "1"}, {"twice": 42}, 8)
    assert sorted(shift["timers"]) == ["report", "rounds"]
    (mail,) = day.lab.mailbox
    assert mail.text.splitlines() == [f"{hour:02}: north" for hour in range(24)]
    day.ask("/shift", "DELETE")
    assert day.ask("/shift")["timers"] == []


def portal(day: Day) -> None:
    assert day.ask("/people", "POST", json=ANN) == {"accepted": [ANN["email"]]}
    (mail,) = day.lab.mailbox
    found = re.search("/activate/.*", mail.text)
    assert found is not None
    assert day.ask(found.group()) == "/"
    token = day.ask("/login", "POST", json=ANN)["token"]
    assert day.ask("/things", "POST", token, json={"sn": "s1", "code": "0000"}) == {"things": {"thing": "s1"}}

    def look(hour: int) -> None:
        token = day.ask("/login", "POST", json=ANN)["token"]
        assert day.ask("/things/s1", token=token) == {"level": hour * 6 + 5}

    day.passes(lambda step: {"level": step}, look)
    assert [each["email"] for each in day.ask("/people")] == [ANN["email"]]
    assert day.kept("accounts", "lrange", 0, -1) == [f"CREATE {ANN['email']}"]


DAYS = (weather_station, pump_product, fleet_tracker, chat, meter, front_door, night_shift, portal)


@pytest.mark.parametrize("name", sorted(each.name for each in FOLDERS.iterdir()))
def test_what_check_says_is_true(name: str) -> None:
    result = CliRunner().invoke(main, ["check", "--json", str(FOLDERS / name)])
    found = json.loads(result.stdout)
    assert (found["errors"], found["warnings"]) == (
        [],
        [f"{FOLDERS / name}: {each}" for each in FINDINGS.get(name, [])],
    )


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:.*without an effect", "ignore:.*not there yet")
@pytest.mark.parametrize("day", DAYS)
def test_a_day(day: Callable[[Day], None]) -> None:
    settings = load_folder(FOLDERS / day.__name__)
    wire: Literal["spec", "field"] = "field" if day is meter else "spec"
    hosts = ["gates.apps.lab.localhost"]
    with Lab(seed=7, start="2026-03-02", config=settings, profile=wire, http_hosts=hosts) as lab:
        (solution,) = settings.solutions
        day(Day(lab, lab.solution(solution.id), lab.product(solution.id).device("s1").activate()))
        lab.settle()
        refused = [
            (each, each.detail) for each in lab.journal if each.status is not None and each.status >= 400
        ]
        assert refused == []
