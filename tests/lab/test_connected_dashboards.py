"""Dashboards of a lab in another process show what those of a lab in this process show."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from labkit import Lab, Thermostat
from labkit.widgets.fleet_dashboard import FleetDashboard
from labkit.widgets.lab_dashboard import LabDashboard
from tests.guard import PATIENCE
from tests.lab.conftest import Serve, connected
from tests.widgets.rig import words

pytestmark = [
    pytest.mark.xdist_group("served"),
    # warnings of bqplot's own import
    pytest.mark.filterwarnings("ignore:metadata .* was set from the constructor:DeprecationWarning"),
]


def arrived(condition: Callable[[], object]) -> None:
    """Wait until the stream has brought what a call has caused."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def story(lab: Lab) -> LabDashboard:
    """Return the dashboard of a lab in which each kind of event has happened."""
    product = lab.product("meter", resources={"temperature": "number"})
    acme = lab.solution("acme", products=product)
    acme.on("device", "datapoint", lua="error('broken')")
    acme.route(
        "POST", "/mail", lua="return Email.send{from = 'a@x.de', to = 'ä@x.de', subject = 'ö', text = 't'}"
    )
    product.device("before").activate()
    dashboard = lab.dashboard()
    device = product.device("t-1").activate()
    device.write(temperature=1)
    lab.faults.add("POST /onep:v1/stack/alias", name="busy", status=503, first=1)
    with pytest.raises(Exception, match="503"):
        device.write(temperature=2)
    acme.post("/mail")
    lab.settle()
    lab.restart()
    device.write(temperature=3)
    lab.settle()
    return dashboard


def test_a_lab(served_lab: Lab) -> None:
    with Lab(seed=7) as own:
        expected = story(own)
        expected.refresh()
        shown = words(expected.widget)
        totals = dict(expected._tally.totals)
    assert totals["mails"] == 1
    dashboard = story(served_lab)
    arrived(lambda: dict(dashboard._tally.totals) == totals)
    dashboard.refresh()
    assert words(dashboard.widget) == shown
    served_lab.reset()
    arrived(lambda: not dashboard._tally.totals)
    dashboard.close()


def test_a_fleet(served_lab: Lab) -> None:
    def played(lab: Lab) -> FleetDashboard:
        fleet = lab.product("meter", resources={"temperature": "number"}).fleet(3, Thermostat(every=60))
        fleet.faults.add("drop before", every=5)
        dashboard = fleet.dashboard(minutes=20)
        fleet.run(minutes=20)
        dashboard.refresh()
        return dashboard

    with Lab(seed=7) as own:
        shown = words(played(own).widget)
    dashboard = played(served_lab)
    assert "ended" in shown
    assert words(dashboard.widget) == shown
    dashboard.close()


def test_they_end_with_the_connection_and_stand_still_without_the_server(serve: Serve) -> None:
    ready = serve("--control", "--seed", "7")
    lab = connected(ready)
    closed, standing = lab.dashboard(), lab.dashboard()
    closed.close()
    ready["process"].kill()
    ready["process"].communicate()
    lab.close()
    assert standing.closed
