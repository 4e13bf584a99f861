"""Security of a fleet's own cluster: other processes that know its ports can neither run code in it nor read it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from distributed import Client, LocalCluster

from labkit import Lab
from labkit.fleet.behaviours import Counter
from tests.fleet.lives import ticks_of
from tests.rig import ran

pytestmark = [
    pytest.mark.sampled,
    pytest.mark.xdist_group("dask"),
    pytest.mark.usefixtures("forked_workers"),
    pytest.mark.filterwarnings("ignore"),  # warnings of dask itself
]
DASHBOARD = 8787  # dask's default port of its dashboard

ATTACK = """
import asyncio, json, os, pickle, sys
from distributed.core import connect
from distributed.security import Security

async def attack(address, operation, folder, **how):
    comm = await connect(address, timeout=2, **how)
    try:
        made = {"function": pickle.dumps(os.mkdir), "args": pickle.dumps((folder,)), "kwargs": pickle.dumps({})}
        await comm.write({"op": operation, **made, "wait": True, "reply": True})
        await asyncio.wait_for(comm.read(), 5)
    finally:
        comm.abort()

async def main(ports, folder):
    tried = [
        attack(f"{protocol}://127.0.0.1:{port}", operation, f"{folder}/{port}-{operation}-{protocol}", **how)
        for port in ports
        for operation in ("run", "run_function")
        for protocol, how in (
            ("tcp", Security().get_connection_args("client")),
            ("tls", Security.temporary().get_connection_args("client")),
        )
    ]
    await asyncio.wait([asyncio.ensure_future(each) for each in tried], timeout=10)
    os._exit(0)  # dask waits for connections that got no answer

asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2]))
"""


def listening(process: psutil.Process) -> dict[int, str]:
    """Return the ports at which a process and its children listen, with the addresses."""
    return {
        each.laddr.port: each.laddr.ip
        for one in (process, *process.children(recursive=True))
        for each in one.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
    }


def attack(ports: list[int], folder: Path) -> list[str]:
    """Let another process try to run code behind each port; return the names of the folders that this code created."""
    folder.mkdir()
    command = [sys.executable, "-c", ATTACK, json.dumps(ports), str(folder)]
    tried = ran(*command)
    assert tried.returncode == 0, tried.stderr
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def ports() -> Iterator[dict[int, str]]:
    """Provide the ports of a running fleet with workers of its own."""
    with Lab(products=[{"id": "meter", "resources": {"count": "number"}}]) as lab:
        lab_ports = set(listening(psutil.Process()))
        run = lab.product("meter").fleet(4, Counter(every=0.1)).start(every=0.2, workers=2)
        ticks = ticks_of(run)
        while not ticks.get(timeout=60).requests:
            pass
        there = listening(psutil.Process())
        yield {port: address for port, address in there.items() if port not in lab_ports}
        run.stop()


def test_another_process_cannot_use_the_fleets_own_cluster(ports: dict[int, str], tmp_path: Path) -> None:
    assert len(ports) >= 4  # scheduler, two workers, and their nannies
    assert set(ports.values()) == {"127.0.0.1"}
    assert DASHBOARD not in ports
    assert attack(sorted(ports), tmp_path / "made") == []
    for port in ports:
        for path in (
            "/",
            "/info/main/workers.html",
            "/health",
            "/metrics",
            "/sysinfo",
            "/api/v1/get_workers",
        ):
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}{path}", timeout=5)
            except httpx.TransportError:  # it uses another protocol
                continue
            assert answer.status_code == 404


def test_the_same_attack_succeeds_at_a_cluster_without_security(tmp_path: Path) -> None:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster),
    ):
        made = attack(sorted(listening(psutil.Process())), tmp_path / "made")
    assert {name.partition("-")[2] for name in made} >= {"run-tcp", "run_function-tcp"}
