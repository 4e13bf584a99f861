"""The behaviours that labkit has, each on the virtual clock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from labkit import Behaviour, Lab
from labkit.core.errors import LabError
from labkit.fleet.behaviours import (
    BEHAVIOURS,
    Bulb,
    Counter,
    Flaky,
    Replay,
    Sensor,
    Thermostat,
    Updater,
)
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.product import Product

TABLE = pandas.DataFrame({"time": range(0, 3600, 60), "temperature": 20.5})
FOLDER = Path(__file__).parents[2] / "labkit" / "fleet" / "behaviours"


def product_of(lab: Lab) -> Product:
    numbers = dict.fromkeys(("temperature", "humidity", "count"), "number")
    return lab.product("device", resources={**numbers, "control": "string", "state": "string"})


def points(lab: Lab, alias: str) -> pandas.DataFrame:
    table = lab.sql(
        f"select identity, timestamp, value from datapoint where alias = '{alias}' order by timestamp"
    )
    return table.astype({"value": float})


def test_each_behaviour_is_short_and_known_by_name() -> None:
    files = {each.stem: len(each.read_text().splitlines()) for each in FOLDER.glob("[!_]*.py")}
    assert set(files) == set(BEHAVIOURS)
    assert {name: lines for name, lines in files.items() if lines >= 40} == {}


def test_a_thermostat_is_warm_in_the_afternoon(lab: Lab) -> None:
    run = product_of(lab).fleet(2, Thermostat(every=900)).run(days=2)
    assert run.failures.empty
    table = points(lab, "temperature")
    by_hour = table.groupby((table.timestamp % 86400) // 3600).value.mean()
    assert len(table) == 2 * 2 * 96
    assert by_hour.loc[14:16].mean() - by_hour.loc[2:4].mean() == pytest.approx(6, abs=1.5)


def test_a_counter_counts_arrivals(lab: Lab) -> None:
    run = product_of(lab).fleet(2, Counter(every=600)).run(hours=2)
    table = points(lab, "count")
    assert [value % 10**9 for value in table[table.identity == "d-001"].value] == list(range(1, 13))
    assert run.failures.empty


def test_a_sensor_sends_its_points_in_batches(lab: Lab) -> None:
    run = product_of(lab).fleet(1, Sensor(every=60, batch=10)).run(hours=2)
    assert run.frame()["requests"].sum() == 12 + 12  # a request for the time precedes each batch
    table = points(lab, "humidity")
    assert set(table.timestamp.diff().dropna()) == {60}
    assert len(table) == 120


@pytest.mark.parametrize("does", ["drop before", "drop after"])
@pytest.mark.parametrize(
    "life",
    [Thermostat(every=60), Sensor(every=60, batch=1), Replay(table=TABLE)],
    ids=["thermostat", "sensor", "replay"],
)
def test_reporting_behaviours_continue_after_an_error(lab: Lab, life: Behaviour, does: str) -> None:
    fleet = product_of(lab).fleet(3, life)
    fleet.faults.add(does, every=4)
    run = fleet.run(hours=1)
    assert run.failures.empty
    assert run.frame()["error no answer"].sum() >= 3 * 14
    assert set(run.devices()["last_error"]) == {"no answer: the device lost its connection"}


def test_a_sensor_keeps_points_that_it_could_not_send(lab: Lab) -> None:
    fleet = product_of(lab).fleet(2, Sensor(every=60, batch=10))
    lab.faults.add("POST /onep:v1/stack/record", status=503, first=30)
    run = fleet.run(hours=2)
    assert run.failures.empty
    table = points(lab, "humidity")
    assert len(table) == 2 * 115  # 15 failures each, then success with the 25th and each tenth after it
    assert all(set(each.timestamp.diff().dropna()) == {60} for _, each in table.groupby("identity"))


def test_a_sensor_keeps_ten_batches_at_most(lab: Lab) -> None:
    fleet = product_of(lab).fleet(1, Sensor(every=60, batch=10))
    lab.faults.add("POST /onep:v1/stack/record", status=503, first=200)
    fleet.run(hours=4)
    table = points(lab, "humidity")
    assert set(table.timestamp.diff().dropna()) == {60}
    assert len(table) == 101 + 30  # at the 210th the last 100 and that one, then three batches of 10


def test_an_updater_downloads_resumes_verifies_and_reboots(lab: Lab) -> None:
    image = bytes(range(256)) * 40
    product = product_of(lab)
    product.content.add("fw-1", image, description=hashlib.sha256(image).hexdigest())
    product.content.add("fw-2", image, description="of another image")
    fleet = product.fleet(3, Updater(every=600, chunk=1000))
    run = fleet.run(hours=1)
    assert set(run.devices().version) == {""}  # fw-2 is newer, and corrupt
    product.content.remove("fw-2")
    run = fleet.run(hours=1)
    shown = run.devices()
    assert set(shown.version) == {"fw-1"}
    assert set(shown.epoch) == {3}  # one life in the first run, two in the second
    assert set(shown.progress) == {1.0}
    assert run.failures.empty


def test_an_updater_resumes_after_an_error() -> None:
    image = bytes(5000)
    asked: list[str] = []

    class Interrupted(Updater):
        async def run(self, device: FleetDevice) -> None:
            original = device.download

            async def download(id: str, range: str | None = None) -> bytes:
                asked.append(str(range))
                if len(asked) == 3:
                    device.connection.abort()
                    raise NoAnswerError("no answer", "")
                return await original(id, range)

            device.download = download  # type: ignore[method-assign]
            await super().run(device)

    with Lab(seed=7) as lab:
        product = product_of(lab)
        product.content.add("fw-1", image, description=hashlib.sha256(image).hexdigest())
        product.fleet(1, Interrupted(every=600, chunk=1000)).run(hours=1)
    begins = [each.partition("=")[2].partition("-")[0] for each in asked]
    assert begins == ["0", "1000", "2000", "2000", "3000", "4000"]


def test_an_updater_survives_errors_at_any_step(lab: Lab) -> None:
    image = bytes(3000)
    product = product_of(lab)
    product.content.add("fw-1", image, description=hashlib.sha256(image).hexdigest())
    lab.faults.add("GET /provision/download", status=503, chance=0.3)
    lab.faults.add("GET /provision/download", cut="inside", chance=0.1)
    run = product.fleet(2, Updater(every=600, chunk=1000)).run(hours=6)
    assert run.failures.empty
    assert set(run.devices().version) == {"fw-1"}
    assert run.frame()["errors"].sum() > 0


def test_an_updater_gives_up_refused_firmware_and_checks_again(lab: Lab) -> None:
    image = bytes(4000)
    product = product_of(lab)
    kind = 'application/x; a="1,2"'  # with a comma
    product.content.add("fw-1", image, kind, hashlib.sha256(image).hexdigest())
    gone = {"?id": "fw-1", "@Range": "bytes=2000-*"}  # as if the content were removed during the download
    lab.faults.add("GET /provision/download", status=404, when="before", if_given=gone)
    fleet = product.fleet(2, Updater(every=600, chunk=500))
    run = fleet.run(hours=2)
    assert set(run.devices().version) == {""}
    assert set(run.devices().progress) == {0.5}
    assert 10 < run.frame()["error 404"].sum() < 60  # one per check, not one a minute
    lab.faults.clear()
    assert set(fleet.run(hours=1).devices().version) == {"fw-1"}


@pytest.mark.parametrize(
    "fault",
    [
        {"does": "drop after", "first": 1, "actions": ["poll"], "devices": [1]},
        {"does": "reboot", "chance": 1.0, "first": 1, "seconds": 30, "devices": [1]},
        {"does": "platform restart", "after": 5, "seconds": 3},
    ],
    ids=lambda fault: fault["does"],
)
def test_a_bulb_gets_the_value_that_was_set_while_it_did_not_poll(lab: Lab, fault: dict[str, Any]) -> None:
    class Remote(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            await device.sleep(10)
            await device.write_to("d-001", control="on")

    fleet = product_of(lab).fleet({Bulb(timeout=60): 1, Remote: 1})
    fleet.faults.add(**fault)
    run = fleet.run(minutes=20)
    assert run.failures.empty
    assert lab.sql("select value from datapoint where alias = 'state'").value.unique().tolist() == ["on"]


def test_a_sensor_needs_no_clock(lab: Lab) -> None:
    fleet = product_of(lab).fleet(2, Sensor(every=60, batch=5))
    for seconds in (1000, -100_000):
        fleet.faults.add("wrong clock", every=3, seconds=seconds)
    run = fleet.run(hours=2)
    assert run.failures.empty
    table = points(lab, "humidity")
    assert all(set(each.timestamp.diff().dropna()) == {60} for _, each in table.groupby("identity"))
    assert len(table) == 2 * 120


def test_a_number_does_not_count_as_sent_if_a_reboot_precedes_its_request(lab: Lab) -> None:
    fleet = product_of(lab).fleet(5, Counter(every=60))
    fleet.faults.add("reboot", chance=0.1, actions=["write"])
    run = fleet.run(hours=2, accounts=True)
    sent = int(run.losses["sent"].sum())
    assert sent == run.frame()["requests"].sum() > 400
    assert run.losses[["lost", "unanswered", "doubled", "unknown"]].to_numpy().sum() == 0
    assert set(run.devices().epoch) != {1}


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Sensor(every=0), "Sensor: every: expected greater than 0, not 0"),
        (lambda: Sensor(batch=0), "Sensor: batch"),
        (lambda: Thermostat(every=-5), "Thermostat: every"),
        (lambda: Counter(every=0), "Counter: every"),
        (lambda: Bulb(timeout=0), "Bulb: timeout"),
        (lambda: Updater(chunk=0), "Updater: chunk"),
        (lambda: Flaky(silence=1.5), "Flaky: silence: expected less than or equal to 1, not 1.5"),
    ],
)
def test_invalid_parameters_are_errors_with_their_names(make: Callable[[], Behaviour], named: str) -> None:
    with pytest.raises(LabError, match=named):
        make()


def test_a_bulb_applies_the_value_that_was_set(lab: Lab) -> None:
    class Remote(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            for wanted in ("on", "off", "on"):
                await device.sleep(minutes=7)
                await device.write_to("d-001", control=wanted)

    product = product_of(lab)
    run = product.fleet(behaviour={Bulb: 1, Remote: 1}).run(hours=1)
    began = int(run.began)
    table = lab.sql("select timestamp, value from datapoint where alias = 'state' order by timestamp")
    assert list(table.value) == ["on", "off", "on"]
    assert list(table.timestamp - began) == [420, 840, 1260]  # at once
    assert run.devices().bulb["d-001"] == "on"


def test_a_table_is_replayed_at_its_own_times(tmp_path: Path) -> None:
    rows = [
        "time,device,temperature,humidity",
        "2020-05-01 10:00:00,d-001,20.5,40",
        "2020-05-01 10:00:30,d-002,1,2",
    ]
    rows += ["2020-05-01 10:10:00,d-001,21.5,", "2020-05-01 11:00:00,d-001,22.5,42"]
    file = tmp_path / "measured.csv"
    file.write_text("\n".join(rows) + "\n")
    with Lab(seed=7) as lab:
        run = product_of(lab).fleet(2, Replay(table=file)).run(hours=3)
        began = int(run.began)
        table = points(lab, "temperature")
        mine = table[table.identity == "d-001"]
        assert list(zip(mine.timestamp - began, mine.value, strict=True)) == [
            (0, 20.5),
            (600, 21.5),
            (3600, 22.5),
        ]
        assert len(points(lab, "humidity")) == 3
        assert list(run.devices().state) == ["ended", "ended"]
    frame = pandas.DataFrame({"temperature": [1.0, 2.0]}, index=pandas.to_datetime([0, 60], unit="s"))
    with Lab(seed=7) as lab:
        run = product_of(lab).fleet(1, Replay(table=frame, speed=2)).run(hours=1)
        assert list(points(lab, "temperature").timestamp - int(run.began)) == [0, 30]


Z = "2026-01-01T00:0{}:00Z"


def replayed(table: Any, **more: Any) -> list[tuple[str, float, str]]:
    """Return the writes of two devices that replay a table: device, seconds since the beginning, values."""
    with Lab(seed=7) as lab:
        product = lab.product("device", resources={"temperature": "string", "humidity": "string"})
        run = product.fleet(2, Replay(table=table, **more)).run(hours=1)
        assert run.failures.empty, list(run.failures.error)
        order = "identity, timestamp, alias desc"
        found = lab.sql(f"select identity, timestamp, value from datapoint order by {order}")
        began = int(run.began)
        return [(who, when - began, value) for who, when, value in found.itertuples(index=False)]


def both(*points: tuple[float, str]) -> list[tuple[str, float, str]]:
    return [(who, when, value) for who in ("d-001", "d-002") for when, value in points]


def frame_of(index: Any) -> pandas.DataFrame:
    return pandas.DataFrame({"temperature": ["a", "b"]}, index=index)


@pytest.mark.parametrize(
    "table",
    [
        frame_of(pandas.date_range("2026-01-01", periods=2, freq="60s", tz="UTC")),
        frame_of(pandas.date_range("2026-01-01", periods=2, freq="60s", tz="Europe/Berlin")),
        frame_of(pandas.date_range("2026-01-01", periods=2, freq="60s")),
        frame_of(pandas.to_timedelta([30, 90], unit="s")),
        frame_of([5, 65]),
        frame_of([0.5, 60.5]),
    ],
    ids=["utc", "zone", "naive", "timedelta", "seconds", "fractions"],
)
def test_a_table_may_have_times_of_any_type(table: pandas.DataFrame) -> None:
    assert replayed(table) == both((0, "a"), (60, "b"))


@pytest.mark.parametrize(
    ("rows", "points"),
    [
        ([f"{Z.format(0)},a,", f"{Z.format(1)},b,"], [(0, "a"), (60, "b")]),
        (["2026-01-01T01:00:00+01:00,a,", "2026-01-01T02:01:00.0+02:00,b,"], [(0, "a"), (60, "b")]),
        (["0 days 00:01:00,a,", "0 days 00:02:00,b,"], [(0, "a"), (60, "b")]),
        (["120,c,", "0,a,", "60,b,"], [(0, "a"), (60, "b"), (120, "c")]),
        (["0,,", "5,b,", "9,,c"], [(5, "b"), (9, "c")]),
        (["0,007,21.50", "5,1e400,NA"], [(0, "007"), (0, "21.50"), (5, "1e400"), (5, "NA")]),
    ],
    ids=["utc", "zones", "durations", "unsorted", "empty", "as they are"],
)
def test_a_file_is_replayed_unchanged(
    rows: list[str], points: list[tuple[float, str]], tmp_path: Path
) -> None:
    file = tmp_path / "measured.csv"
    file.write_text("\n".join(["time,temperature,humidity", *rows, ""]))
    assert replayed(file) == both(*points)


def test_all_devices_of_a_table_have_a_common_beginning() -> None:
    table = pandas.DataFrame({"time": [30, 10], "device": ["d-002", "d-001"], "temperature": ["b", "a"]})
    assert replayed(table) == [("d-001", 0, "a"), ("d-002", 20, "b")]
    assert replayed(table[:0]) == []


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"speed": 0}, "speed: expected a number above 0, not 0"),
        ({"speed": -1}, "speed: expected a number above 0, not -1"),
        ({"speed": float("nan")}, "speed: expected a number above 0, not nan"),
        ({"table": "nope.csv"}, "table: nope.csv: No such file"),
        ({"table": [{"temperature": 1}]}, "table: expected a DataFrame or the path of a CSV file"),
        ({"table": Path(__file__).parent}, "fleet: Is a directory"),
        ({"table": frame_of(["now", "then"])}, "expected times as dates .* or as seconds, not 'now'"),
        ({"table": frame_of([0, None])}, "row 2 has no time"),
    ],
)
def test_an_invalid_table_is_an_error_at_once(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(LabError, match=named):
        Replay(**{"table": frame_of([0, 1]), **parameters})


def test_an_invalid_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "measured.csv"
    for text, named in [("", "no CSV"), ("when,a\n1,2\n", "no column 'time', there are: when, a")]:
        file.write_text(text)
        with pytest.raises(LabError, match=f"table: .*measured.csv: {named}"):
            Replay(table=file)


def test_a_flaky_device_is_refused_reboots_and_disconnects(lab: Lab) -> None:
    flaky = Flaky(every=300, away=900, nonsense=0.1, reboot=0.1, breakdown=0.01)
    run = product_of(lab).fleet(8, flaky).run(hours=12)
    assert 0 < len(run.failures) < 8
    assert set(run.failures.error) == {"RuntimeError: the device broke down"}
    assert run.frame()["error 400"].sum() > 10
    assert run.devices().epoch.max() > 2
