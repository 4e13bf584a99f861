"""Results, command and charts of `labkit bench`; the speed of this machine is not tested."""

from __future__ import annotations

import json
import resource
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from labkit.bench import bench, chart, firmware, fleets, floods, on_demand, polls, rounds, websockets
from labkit.bench.control import BenchError, Child
from labkit.bench.handlers import handlers
from labkit.bench.measures import TRAFFIC, Result
from labkit.core import extras
from labkit.core.errors import LabError
from tests.rig import invoked


@pytest.mark.usefixtures("forked")
def test_traffic_is_measured_beside_its_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "CONNECTIONS", 8)
    (result,) = bench.run(["read"], count=1, seconds=0.2)
    assert result.name == "read"
    assert result.ratio == pytest.approx(result.reference / result.value)
    assert result.met == (result.ratio >= result.required)
    assert result.details["requests_per_second"] > 0


def test_each_poll_is_woken_by_its_own_write_and_the_command_reports_json() -> None:
    answer = invoked("bench", "polls", "--polls", "20", "--json")
    (result,) = json.loads(answer.stdout)
    assert result["name"] == "polls"
    assert result["ratio"] == pytest.approx(result["reference"] / result["value"])
    assert result["details"]["wrong"] == 0
    assert result["details"]["wake_p99_ms"] > 0
    assert result["details"]["all_last_s"] > 0
    assert result["met"] == (result["ratio"] >= 1 and result["details"]["wake_times"] <= 1.5)


@pytest.mark.sampled
def test_each_websocket_is_answered_and_gets_a_message_to_all() -> None:
    answer = invoked("bench", "websockets", "--websockets", "20", "--json")
    (result,) = json.loads(answer.stdout)
    assert result["name"] == "websockets"
    assert result["details"]["wrong"] == 0
    assert 0 < result["details"]["bare_cpu_us"] < result["details"]["answer_cpu_us"]
    assert 0 < result["details"]["answer_p50_ms"] <= result["details"]["answer_p99_ms"]
    assert result["details"]["all_last_s"] > 0


@pytest.mark.sampled
@pytest.mark.usefixtures("forked")
def test_each_flood_is_measured_beside_an_idle_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (len(floods.FLOODS), floods.CLIENTS) == (8, (1, 50))
    monkeypatch.setattr(floods, "CLIENTS", (2,))
    monkeypatch.setattr(floods, "ASKS", 5)
    (result,) = bench.run(["floods"])
    details = result.details
    times = {each.name: details[f"{each.name}_2_times"] for each in floods.FLOODS}
    worst = max(times, key=lambda name: times[name])
    assert result.value == details[f"{worst}_2_p99_ms"]
    assert result.value / result.reference == pytest.approx(times[worst])
    assert result.met == (times[worst] <= floods.MOST_TIMES)
    assert all(details[f"{name}_2_kib"] > 0 for name in times)


def test_the_result_is_the_median_of_the_rounds_and_a_shortfall_fails() -> None:
    found = {
        "reference": [(10.0, 1.0), (30.0, 1.0), (20.0, 1.0)],
        "lab": [(50.0, 1.0), (100.0, 2.0), (60.0, 3.0)],
    }
    result = rounds.summarize(TRAFFIC[0], found, rounds=3, void=0)
    assert (result.value, result.reference) == (60.0, 20.0)
    assert result.ratio == pytest.approx(1 / 3)
    assert not result.met


def test_a_requirement_not_met_is_exit_status_1_and_results_before_an_interrupt_are_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missed = replace(GROWN, name="polls", met=False)
    monkeypatch.setattr(polls, "measure", lambda *_: missed)
    answer = invoked("bench", "polls", "--json")
    assert (answer.exit_code, answer.stderr) == (1, "labkit: not met: polls\n")
    assert json.loads(answer.stdout) == [missed.as_dict()]
    monkeypatch.setattr(websockets, "measure", Mock(side_effect=KeyboardInterrupt))
    answer = invoked("bench", "polls", "websockets")
    assert (answer.exit_code, answer.stderr) == (130, "labkit bench: interrupted\n")
    assert answer.stdout == f"{missed}\n"


def test_only_void_rounds_give_no_result() -> None:
    with pytest.raises(BenchError, match="void"):
        rounds.summarize(TRAFFIC[0], {"reference": [], "lab": []}, rounds=3, void=6)


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("name", firmware.NAMES)
def test_a_program_lives_a_day_beside_its_reference(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if not firmware.is_possible(name):
        pytest.skip("needs Linux, cc and libcurl")
    monkeypatch.setattr(fleets, "DEVICES", 16)
    monkeypatch.setattr(fleets, "SIMULATED", 2 * fleets.REPORTING)
    result = fleets.simulated(name, 1, 0.2, lambda text: None)
    assert result.details["turns_each"] >= 1
    assert result.ratio == pytest.approx(1 / result.details["times"])
    assert result.met == (result.details["times"] <= fleets.SIMULATIONS[name].most)
    monkeypatch.setattr(firmware, "is_possible", lambda name: False)
    with pytest.raises(BenchError, match=f"{name}: needs Linux"):
        list(bench.run([name]))


def test_an_unknown_measure_is_an_error_with_its_name() -> None:
    with pytest.raises(BenchError, match=r"'speed'.*write"):
        list(bench.run(["speed"]))


def test_the_help_lists_every_measure() -> None:
    answer = invoked("bench", "--help")
    assert answer.exit_code == 0, answer.output
    listed = answer.output.partition("Measures:")[2].split()
    assert set(bench.NAMES) <= set(listed)


def test_more_polls_than_file_descriptors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    with pytest.raises(BenchError, match=r"4200 descriptors.*lets one have 4096.*LimitNOFILE"):
        list(bench.run(["polls"], poll_count=4000))
    polls.check_descriptors(3000)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, resource.RLIM_INFINITY))
    polls.check_descriptors(10**6)


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("name", ["simulated-write", "simulated-lua"])
def test_a_simulated_write_is_measured_beside_the_bare_handler(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleets, "DEVICES", 16)
    monkeypatch.setattr(fleets, "REPORTING", 16)
    monkeypatch.setattr(fleets, "SIMULATED", 32)
    (result,) = bench.run([name], count=1, seconds=0.2)
    assert result.ratio == pytest.approx(result.reference / result.value)
    assert result.details["times"] == pytest.approx(result.value / result.reference)
    assert result.met == (result.details["times"] <= {"simulated-write": 3.5, "simulated-lua": 9}[name])


@pytest.mark.usefixtures("forked")
def test_memory_of_pending_polls_is_the_clients() -> None:
    (result,) = bench.run(["fleet-memory"], devices=64)
    assert 0 < result.value < 1000
    assert result.met == (result.value <= 60)


@pytest.mark.usefixtures("forked")
def test_growth_is_measured_at_each_size_and_charted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [len(sizes) for sizes in (fleets.GROWTH, fleets.WHOLE_GROWTH)] == [4, 4]
    monkeypatch.setattr(fleets, "GROWTH", (40, 80))
    monkeypatch.setattr(fleets, "GROWING", 20)
    monkeypatch.setattr(fleets, "SIMULATED", 20)
    picture = tmp_path / "growth.png"
    answer = invoked("bench", "growth", "--json", "--chart", picture)
    (result,) = json.loads(answer.stdout)
    details = result["details"]
    assert [name for name in details if name.startswith("micros")] == ["micros_40", "micros_80"]
    assert result["ratio"] == pytest.approx(details["micros_40"] / details["micros_80"])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_size_is_refused_for_other_measures() -> None:
    answer = invoked("bench", "write", "--size", "5")
    assert "--size: only for the measure repeated-runs" in answer.output
    assert answer.exit_code != 0


@pytest.mark.usefixtures("forked")
def test_repeated_runs_of_a_fleet_are_measured_at_each_size() -> None:
    answer = invoked("bench", "repeated-runs", "--size", "40", "--size", "20", "--json")
    (result,) = json.loads(answer.stdout)
    details = result["details"]
    assert (result["reference"], result["value"]) == (
        details["first_mebibytes_40"],
        details["last_mebibytes_40"],
    )
    for size in (20, 40):
        between = details[f"first_mebibytes_{size}"] / details[f"last_mebibytes_{size}"]
        assert details[f"ratio_{size}"] == pytest.approx(between)
        assert details[f"micros_{size}"] > 0
    assert result["ratio"] == min(details["ratio_20"], details["ratio_40"])
    assert result["met"] == (result["ratio"] >= 0.8)


@pytest.mark.sampled
@pytest.mark.skipif(not on_demand.IS_POSSIBLE, reason="this system starts a process for each lab on demand")
def test_labs_on_demand_are_measured_beside_one_that_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "LABS", 3)
    (result,) = bench.run(["labs"])
    assert result.ratio == pytest.approx(result.reference / result.value)
    assert 0 < result.details["answer_ms"] <= result.details["answer_p90_ms"]
    assert 0 < result.details["private_mb"] * result.details["fit_in_8_gib"] * 1e6 <= on_demand.ROOM


def test_a_fleet_with_more_connections_than_file_descriptors_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    with pytest.raises(BenchError, match=r"descriptors.*lets one have 4096"):
        list(bench.run(["repeated-runs"], sizes=[20, 3000]))
    with pytest.raises(BenchError, match="at least 1 device"):
        list(bench.run(["repeated-runs"], sizes=[0]))


def test_an_unknown_chart_or_one_without_a_path_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer = invoked("bench", "read", "--chart", tmp_path / "read.png")
    assert (answer.exit_code, "only the measure growth has a chart" in answer.output) == (1, True)
    monkeypatch.setattr(bench, "run", lambda *_, **more: [GROWN])
    answer = invoked("bench", "growth", "--chart", tmp_path / "none" / "growth.png")
    assert (answer.exit_code, "No such file or directory" in answer.output) == (1, True)


def test_the_chart_of_growth_has_all_sizes_in_order() -> None:
    assert chart.points(GROWN) == {1000: (1.0, 50.0), 3000: (6.0, 51.0), 20_000: (22.0, 52.5)}
    assert chart.growth_chart(GROWN) == chart.growth_chart(GROWN)


SIZES = {20_000: (1100.0, 52.5), 1000: (1000.0, 50.0), 3000: (2000.0, 51.0)}  # µs a write, MiB
GROWN = Result(
    *("growth", "20,000 writes", "µs of CPU a write", 1100.0, 1000.0, 0.9, 0.8, True, 1, 0),
    {f"micros_{size}": micros for size, (micros, _) in SIZES.items()}
    | {f"mebibytes_{size}": mebibytes for size, (_, mebibytes) in SIZES.items()},
)


@pytest.mark.sampled
@pytest.mark.usefixtures("forked")
def test_a_soak_writes_at_an_open_rate_and_watches_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "DEVICES", 16)
    monkeypatch.setattr(fleets, "SOUNDING", 0.2)
    (result,) = bench.run(["soak"], minutes=0.025)
    assert result.details["requests"] > 0
    assert result.details["errors"] == 0
    assert result.ratio == pytest.approx(result.reference / result.value)


@pytest.mark.usefixtures("forked")
def test_bare_handlers_share_an_address_and_the_connections_to_it() -> None:
    with handlers((0, 1)) as ready, Child("labkit.bench.load", core=0) as wires:
        wires.ask("connect", **ready, connections=40, activate=False)
        sent = wires.ask("hammer", method="POST", body="text=hello", query="", seconds=0.1, expected=204)
        serving = [
            each.pid  # of a process that perhaps another worker's server has forked
            for each in psutil.net_connections("tcp")
            if each.laddr and each.laddr.port == ready["port"] and each.status == psutil.CONN_ESTABLISHED
        ]
    assert sent["requests"] >= 40
    assert len(serving) == 40
    assert len(set(serving)) == 2


def test_without_locust_the_fleet_load_names_the_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "locust" else find_spec(name))
    steps: list[str] = []
    with pytest.raises(LabError, match=r"takes locust: pip install 'labkit\[bench\]'"):
        list(bench.run(["write", "fleet"], progress=steps.append))
    assert steps == []  # before any other step can fail
