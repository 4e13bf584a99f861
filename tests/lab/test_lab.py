"""The lab's handle: lifetime, clock, replay, and cleanup."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, SettingsError
from labkit.lab.product import Product
from labkit.platform import Platform
from labkit.settings import SolutionSettings
from tests.rig import ran
from tests.sizes import size

FILES = Path("/proc/self/fd")
RESOURCES = {"temperature": "number", "message": "string"}


def thermostat(lab: Lab, **settings: Any) -> Product:
    return lab.product("thermostat", resources=RESOURCES, **settings)


def test_a_device_activates_writes_and_reads(lab: Lab) -> None:
    device = thermostat(lab).device("t-001").activate()
    device.write(temperature=21.5)
    assert device.read("temperature") == {"temperature": "21.5"}
    assert device.write_and_read({"message": "hi & bye"}, "message") == {"message": "hi & bye"}


def test_a_poll_expires_by_the_virtual_clock(lab: Lab) -> None:
    device = thermostat(lab).device("t-001").activate()
    poll = device.start_poll("message", timeout=30)
    lab.clock.advance(seconds=29.999)
    assert not poll.done
    lab.clock.advance(seconds=0.001)
    assert poll.result() is None


def test_a_poll_is_answered_by_a_write_in_the_same_instant(lab: Lab) -> None:
    device = thermostat(lab).device("t-001").activate()
    poll = device.start_poll("message")
    device.write(message="now")
    assert poll.result() == "now"


def test_a_blocking_poll_on_a_virtual_clock_names_the_alternative(lab: Lab) -> None:
    device = thermostat(lab).device("t-001").activate()
    with pytest.raises(LabError, match="start_poll"):
        device.poll("message", timeout=30)


def test_a_wall_clock_lab_polls_in_real_time() -> None:
    with Lab() as lab:
        device = thermostat(lab).device("t-001").activate()
        assert device.poll("message", timeout=0.05) is None


def test_a_scaled_clock_makes_long_waits_short() -> None:
    with Lab(speed=3600) as lab:
        device = thermostat(lab).device("t-001").activate()
        assert device.poll("message", timeout=120) is None  # 120 lab seconds are 33 ms


def test_calls_on_the_loops_own_thread_raise_at_once(lab: Lab) -> None:
    solution = lab.solution("acme")

    async def handler(request: object) -> None:
        lab.settle()

    solution.route("GET", "/stuck", handler)
    assert solution.get("/stuck").status_code == 500
    assert "own loop" in lab.journal.frame().to_string()


def test_a_closed_lab_is_an_error_and_closing_twice_is_not() -> None:
    lab = Lab(seed=1)
    lab.close()
    lab.close()
    with pytest.raises(LabError, match="closed"):
        lab.settle()
    assert repr(lab) == "<lab: closed>"


def test_an_invalid_setting_is_an_error_and_starts_nothing() -> None:
    before = threading.active_count()
    with pytest.raises(SettingsError, match="profile"):
        Lab(profile="imaginary")  # type: ignore[arg-type]
    assert threading.active_count() == before


def test_settings_change_on_a_running_lab(lab: Lab) -> None:
    product = thermostat(lab)
    product.settings.change(self_registration=False)
    assert product.device("t-1").request("GET", "/timestamp").status_code == 200
    refused = product.device("t-1").request("POST", "/provision/activate", data={"id": "t-1"})
    assert refused.status_code == 404
    product.allow("t-1")
    product.device("t-1").activate().write(message="in")
    with pytest.raises(SettingsError, match="auth"):
        product.settings.change(auth="magic")  # type: ignore[arg-type]
    assert product.settings.auth == "token"


def test_reset_forgets_state_and_keeps_products(lab: Lab) -> None:
    product = thermostat(lab, identities=["t-9"])
    product.device("t-1").activate().write(message="x")
    product.content.add("fw.bin", b"1234")
    lab.reset()
    assert list(product.devices().index) == ["t-9"]
    assert lab.sql("select count(*) n from datapoint")["n"][0] == 0
    assert len(product.content.frame()) == 0
    assert product.device("t-1").request("GET", "/onep:v1/stack/alias?message").status_code == 401


async def test_settle_waits_for_the_calls_of_cells_too() -> None:
    async with Platform(seed=1) as platform:
        await platform.solutions.add(SolutionSettings(id="acme"))
        account = {"email": "ann@example.com", "name": "Ann", "password": "correct horse"}
        call = asyncio.create_task(platform.call("acme", "User", "createUser", account))
        await asyncio.sleep(0)
        await platform.settle()
        assert isinstance(call.result(), str)


def test_a_token_from_before_a_reset_is_invalid_after_it() -> None:
    with Lab() as lab:  # with a seed the same story gives the same tokens again
        user = lab.solution("acme").User

        def token_of(name: str) -> str:
            user.activateUser(
                code=user.createUser(email=f"{name}@example.com", name=name, password="correct")
            )
            token: str = user.getUserToken(email=f"{name}@example.com", password="correct")
            return token

        of_ann = token_of("ann")
        lab.reset()
        of_ben = token_of("ben")
        assert user.getCurrentUser(token=of_ben)["id"] == 1  # the same as Ann's
        assert user.getCurrentUser(token=of_ann)["status"] == 401


def test_sql_reads_and_changes_nothing(lab: Lab) -> None:
    thermostat(lab).device("t-1").activate().write(message="x")
    assert lab.sql("select alias, value from datapoint").values.tolist() == [["message", "x"]]
    with pytest.raises(LabError, match=r"readonly|read-only"):
        lab.sql("delete from datapoint returning 1")


def story(lab: Lab) -> str:
    """Run a story: two devices, a poll, a day of time, a solution that counts."""
    product = thermostat(lab)
    solution = lab.solution("acme", products=[product])
    solution.on(
        "device",
        "datapoint",
        lua='Keystore.command({key="n", command="incrby", args={1}})',
    )
    code = solution.User.createUser(email="ann@example.com", name="Ann", password="correct horse")
    solution.User.activateUser(code=code)
    solution.User.getUserToken(email="ann@example.com", password="correct horse")
    for name in ("t-1", "t-2"):
        device = product.device(name).activate()
        device.write(temperature=1, message="hi")
        poll = device.start_poll("message", timeout=10)
        lab.clock.advance(hours=12)
        poll.result()
        lab.settle()
    return lab.journal.canonical()


def test_a_seeded_story_replays_byte_for_byte() -> None:
    texts = []
    for _ in range(2):
        with Lab(seed=7) as lab:
            texts.append(story(lab))
    assert texts[0] == texts[1]
    assert texts[0].count("\n") > 15
    with Lab(seed=8) as lab:
        assert story(lab) != texts[0]


def test_two_labs_share_nothing() -> None:
    with Lab(seed=1) as one, Lab(seed=1) as two:
        one_device = thermostat(one).device("t-1").activate()
        two_device = thermostat(two).device("t-1").activate()
        one_device.write(message="one")
        one.clock.advance(days=1)
        assert two_device.read("message") == {}
        assert two.clock.time != one.clock.time
        assert len(one.journal) != len(two.journal)


def descriptors() -> int:
    return len(list(FILES.iterdir()))


@pytest.mark.skipif(not FILES.is_dir(), reason="counts file descriptors in /proc")
def unfinished() -> int:
    """Return the number of unfinished tasks in this process."""
    return sum(isinstance(each, asyncio.Task) and not each.done() for each in gc.get_objects())


def test_closed_labs_leave_nothing() -> None:
    def one_life(number: int) -> None:
        with Lab(seed=number, http_port=0) as lab:
            device = thermostat(lab).device("t-1").activate()
            device.write(message="x")
            device.start_poll("message")  # left open on purpose

    one_life(0)  # imports and caches of the first use are no leak
    gc.collect()
    threads, files, tasks = threading.active_count(), descriptors(), unfinished()
    for number in range(size(20, 200)):
        one_life(number)
    gc.collect()
    assert threading.active_count() == threads
    assert descriptors() <= files
    assert unfinished() <= tasks  # a lab that other tests share may have some


def test_pending_polls_and_an_unclosed_lab_end_with_the_process_without_output() -> None:
    script = (
        "from labkit import Lab; lab = Lab(seed=1); device = lab.product('p', resources={'m': 'string'})"
        ".device('d').activate(); lab.faults.add('GET /*', status=503, first=1);"
        "device.start_poll('m'); device.start_poll('m'); lab.close();"
        "other = Lab(seed=1); other.product('p').device('d').activate(); print('done')"
    )
    ended = ran(sys.executable, "-W", "error", "-c", script, check=True)
    assert ended.stdout == "done\n"
    assert ended.stderr == ""


def test_representations_of_handles(lab: Lab) -> None:
    product = thermostat(lab)
    device = product.device("t-1").activate()
    solution = lab.solution("acme", products=[product])
    for handle in (lab, product, product.settings, product.content, device, solution, lab.journal):
        assert handle._repr_html_().startswith("<")
        assert repr(handle)
    secret = lab.sql("select hex(digest) d from datapoint join device using (product)")
    assert secret.empty
    assert "Keystore" in dir(solution)
    assert "get" in dir(solution.Keystore)
    assert solution.Keystore.get(key="nothing") == {}


def test_a_seed_repeats_no_identifier_in_one_data_file(tmp_path: Path) -> None:
    def secret(**settings: Any) -> str:
        with Lab(seed=7, **settings) as lab:
            user = lab.solution("acme", products=[]).User
            if not user.listUsers():
                user.createUser(email="ann@example.com", name="Ann", password="correct horse")
            client = user.createOauthClient(id=1, name="Shop", redirect="https://shop.example/")
            return str(client["secret"])

    data = str(tmp_path / "lab.db")
    first, second, third = (secret(data=data) for _ in range(3))
    assert first == secret()  # a new data file has the same story again
    assert len({first, second, third}) == 3
