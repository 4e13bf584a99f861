"""Lab time on a host whose clock is set, drifts, or stood still."""

from __future__ import annotations

import asyncio

import pytest

from labkit.core.host_time import HostTime, RealTime
from labkit.labtime.clock import LATEST, Clock

BEGUN = 1_800_000_000.0


class Host:
    """The clocks of a host, set by the test."""

    def __init__(self) -> None:
        self.wall = BEGUN
        self.steady = 500.0
        self.real = RealTime(lambda: self.wall, lambda: self.steady)

    def run(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.fixture
def host() -> Host:
    return Host()


def test_lab_time_follows_the_host(host: Host) -> None:
    time = HostTime(host.real)
    for _ in range(3):
        assert time.now() == host.wall
        host.run(0.5)
    host.wall += 7200  # the host was set forward, or slept
    assert time.now() == host.wall
    assert (time.observe(), time.ahead, time.pace) == (7200, 0, 1)


@pytest.mark.parametrize("looks", [False, True])
def test_after_a_step_back_lab_time_continues_until_the_host_catches_up(host: Host, looks: bool) -> None:
    time = HostTime(host.real)
    host.run(10)
    if looks:
        assert time.observe() == 0
    assert time.now() == BEGUN + 10
    host.run(2)
    host.wall -= 3600
    shown = [time.now()]
    assert shown[0] == BEGUN + 12  # the time that passed before is included
    assert time.observe() == pytest.approx(-3600)
    assert time.observe() == 0
    while time.ahead:
        host.run(600)
        shown.append(time.now())
    assert shown == sorted(shown)
    assert shown[1] == BEGUN + 12 + 0.95 * 600
    assert len(shown) - 1 == 3600 / 0.05 / 600
    assert time.now() == host.wall
    assert (time.observe(), time.pace) == (0, 1)


def test_after_a_step_back_and_forward_lab_time_is_right_again(host: Host) -> None:
    time = HostTime(host.real)
    for step in (-3600, 3600, -10, 86_400, -86_400):
        before = time.now()
        host.wall += step
        assert time.now() >= before
        assert time.observe() == pytest.approx(step)
        host.run(1)
        assert before < time.now()
    host.wall += 86_400
    assert time.now() == host.wall


def test_drift_is_no_step_and_lab_time_never_goes_back(host: Host) -> None:
    time = HostTime(host.real)
    for jitter in (0.05, -0.05, 0.0, 0.09, -0.09) * 20:
        host.run(0.01)
        host.wall += jitter
        before = time.now()
        assert time.observe() == 0
        assert time.now() >= before
        assert time.ahead < 0.1
    assert time.pace == 1


@pytest.mark.parametrize(("rate", "start"), [(60, None), (1, BEGUN), (60, 5.0)])
def test_other_running_clocks_are_independent_of_the_hosts_date(
    host: Host, rate: float, start: float | None
) -> None:
    clock = Clock(rate, start, host.real)
    begun = clock.now()
    for step in (-3600.0, 86_400.0):
        host.wall += step
        host.run(1)
    assert clock.now() == begun + 2 * rate
    assert clock.ahead == 0


def test_lab_time_continues_where_stored_data_ended(host: Host) -> None:
    for clock in (Clock(real=host.real), Clock(60, real=host.real), Clock(0, real=host.real)):
        clock.continue_from(clock.now() - 5)  # an earlier end has no effect
        begun = clock.now()
        clock.continue_from(begun + 1000)
        assert clock.now() == begun + 1000
        host.run(10)
        assert clock.now() == begun + 1000 + {1: 9.5, 60: 600, 0: 0}[int(clock.rate)]


def test_it_ends_at_the_maximum_of_lab_time(host: Host) -> None:
    clock = Clock(real=host.real)
    clock.continue_from(LATEST + 10)
    host.run(10)
    assert clock.now() == LATEST


def test_a_frozen_and_resumed_clock_no_longer_follows_the_host(host: Host) -> None:
    clock = Clock(real=host.real)
    host.wall -= 100
    assert clock.freeze() == BEGUN
    clock.run()
    host.wall -= 100
    host.run(5)
    assert clock.now() == BEGUN + 5


async def test_timers_fire_and_a_step_is_reported_when_the_host_is_set_forward(host: Host) -> None:
    clock = Clock(real=host.real)
    steps: list[float] = []
    fired: list[float] = []
    reached = asyncio.Event()

    def fire() -> None:
        fired.append(clock.now())
        reached.set()

    clock.watch_host(steps.append)
    clock.call_at(BEGUN + 3000, fire)
    host.wall += 3600
    await asyncio.wait_for(reached.wait(), 20)  # at the next reading, within a second
    assert fired == [BEGUN + 3600]
    assert steps == [3600]
    clock.close()
