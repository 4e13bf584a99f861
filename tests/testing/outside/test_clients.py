"""Real clients trust the lab and find it: curl, libcurl, OpenSSL, Node, requests and httpx."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import requests

if TYPE_CHECKING:
    from labkit import Lab
    from labkit.lab.product import Product

HERE = Path(__file__).parent


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [each for each in programs if shutil.which(each) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def compiled(folder: Path, source: str, *libraries: str) -> Path:
    """Compile a C program; skip the test if the headers are not installed."""
    program = folder / source.removesuffix(".c")
    command = [
        "cc",
        "-o",
        str(program),
        str(HERE / source),
        *(f"-l{each}" for each in libraries),
    ]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No such file or directory" in made.stderr:
        pytest.skip(made.stderr.splitlines()[0])
    assert made.returncode == 0, made.stderr
    return program


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what this machine says about proxies and certificates."""
    for name in os.environ:
        if name.upper().endswith(("_PROXY", "_CERT_DIR", "_CERT_FILE", "_CA_BUNDLE", "_CA_CERTS")):
            monkeypatch.delenv(name)


@pytest.fixture
def thermostat(lab: Lab) -> Product:
    target = {"format": "number", "settable": True}
    return lab.product("thermostat", resources={"temperature": "number", "target": target})


@pytest.fixture
def local(lab: Lab) -> Product:
    """A product that every client finds, since its host is `localhost`."""
    return lab.product("local", domain="localhost", resources={"temperature": "number"})


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
    )


# --- trust and names ------------------------------------------------------------------------------------------


@needs("curl")
def test_curl(thermostat: Product, client_environment: dict[str, str]) -> None:
    """It reads CURL_CA_BUNDLE and SSL_CERT_FILE, and resolves names below .localhost by itself."""
    url = thermostat.url("/timestamp")
    assert run("curl", "-sS", url).returncode != 0
    for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        assert run("curl", "-sS", url, **{name: client_environment[name]}).stdout.isdigit()
    assert run("curl", "-sS", url, **client_environment).stdout.isdigit()


@needs("curl")
@pytest.mark.lab(domain="lab.example")
def test_curl_resolves_other_names_by_what_the_lab_says(lab: Lab, thermostat: Product) -> None:
    url = thermostat.url("/timestamp")
    resolve = [part for each in lab.resolve for part in ("--resolve", each)]
    assert "Could not resolve host" in run("curl", "-sS", "--cacert", lab.ca_file, url).stderr
    assert run("curl", "-sS", "--cacert", lab.ca_file, *resolve, url).stdout.isdigit()


@needs("curl")
@pytest.mark.lab(domain="lab.example", proxy_port=0)
def test_curl_by_the_proxy(thermostat: Product, client_environment: dict[str, str]) -> None:
    assert run("curl", "-sS", thermostat.url("/timestamp"), **client_environment).stdout.isdigit()
    refused = run("curl", "-sS", "https://example.com/", **client_environment)
    assert "403" in refused.stderr


@needs("node")
def test_node(local: Product, client_environment: dict[str, str]) -> None:
    """It reads NODE_EXTRA_CA_CERTS, and resolves no name below .localhost where glibc does not: `localhost` it does."""
    url = local.url("/timestamp")
    untrusted = run("node", HERE / "client.js", url)
    assert (untrusted.returncode, untrusted.stderr.strip()) == (1, "UNABLE_TO_VERIFY_LEAF_SIGNATURE")
    trusted = run("node", HERE / "client.js", url, **client_environment)
    assert trusted.stdout.startswith("200 "), trusted.stderr


@needs("cc")
def test_openssl(lab: Lab, thermostat: Product, client_environment: dict[str, str], tmp_path: Path) -> None:
    """It reads SSL_CERT_FILE, where the program asks for the default locations."""
    program, port = compiled(tmp_path, "tls.c", "ssl", "crypto"), str(lab.address.https_port)
    assert (
        "certificate verify failed" in run(program, port, thermostat.domain, SSL_CERT_FILE="/dev/null").stderr
    )
    assert run(program, port, thermostat.domain, **client_environment).stdout == "HTTP/1.1 200 OK\n"


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_requests(
    local: Product, client_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(local.url("/timestamp"), timeout=20)
    monkeypatch.setenv(variable, client_environment[variable])
    assert requests.get(local.url("/timestamp"), timeout=20).status_code == 200


def test_httpx(local: Product, client_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads SSL_CERT_FILE."""
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        httpx.get(local.url("/timestamp"))
    monkeypatch.setenv("SSL_CERT_FILE", client_environment["SSL_CERT_FILE"])
    assert httpx.get(local.url("/timestamp")).status_code == 200


@pytest.mark.lab(domain="lab.example", proxy_port=0)
def test_requests_and_httpx_by_the_proxy(
    thermostat: Product, client_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that nothing resolves: both read HTTPS_PROXY."""
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(thermostat.url("/timestamp"), timeout=20)
    for name, value in client_environment.items():
        monkeypatch.setenv(name, value)
    assert requests.get(thermostat.url("/timestamp"), timeout=20).status_code == 200
    assert httpx.get(thermostat.url("/timestamp")).status_code == 200
    with pytest.raises(requests.exceptions.ProxyError, match="403"):
        requests.get("https://example.com/", timeout=20)


# --- a whole client -------------------------------------------------------------------------------------------


@pytest.fixture
def firmware(lab: Lab, thermostat: Product, tmp_path: Path) -> list[str]:
    """The command line of the C client, without its action."""
    program = compiled(tmp_path, "firmware.c", "curl")
    [resolve] = [each for each in lab.resolve if each.startswith(thermostat.domain)]
    return [str(program), thermostat.url(), str(lab.ca_file), resolve, "t-001"]


@needs("cc")
class TestFirmware:
    def test_it_writes(self, lab: Lab, firmware: list[str]) -> None:
        assert run(*firmware, "write", "21.5").stdout.split("\n") == ["activate 200", "write 204", ""]
        assert [each.values for each in lab.journal.writes("t-001")] == [{"temperature": "21.5"}]

    def test_it_tries_again_and_writes_once(self, lab: Lab, firmware: list[str]) -> None:
        lab.faults.add("POST /onep:v1/stack/alias", status=503, first=2)
        lab.faults.add("POST /onep:v1/stack/alias", cut="before", first=1)
        said = run(*firmware, "write", "21.5").stdout.split()
        assert said[1::2] == ["200", "503", "503", "0", "204"]
        assert len(lab.journal.writes("t-001")) == 1

    def test_a_lost_answer_doubles_a_write(self, lab: Lab, firmware: list[str]) -> None:
        """Both writes are in one second, so there is one datapoint; the journal has both."""
        lab.faults.add("POST /onep:v1/stack/alias", cut="after", first=1)
        assert run(*firmware, "write", "21.5").stdout.split()[1::2] == ["200", "0", "204"]
        assert len(lab.journal.writes("t-001")) == 2

    def test_it_provisions_anew_when_its_token_is_lost(self, lab: Lab, firmware: list[str]) -> None:
        lab.faults.add("POST /onep:v1/stack/alias", forget=True, first=1)
        assert run(*firmware, "write", "21.5").stdout.split() == [
            *("activate", "200", "write", "401", "activate", "200", "write", "204")
        ]

    def test_its_poll_ends_by_the_clock_and_then_gets_the_target(
        self, lab: Lab, thermostat: Product, firmware: list[str]
    ) -> None:
        solution = lab.solution("acme", products=[thermostat])
        with subprocess.Popen([*firmware, "poll"], stdout=subprocess.PIPE, text=True) as client:
            thermostat.wait_for_poll("t-001", "target", within=30)
            lab.clock.advance(30)
            thermostat.wait_for_poll("t-001", "target", within=30)
            assert solution.Device2.setIdentityState(identity="t-001", target=19) is not None
            said, _ = client.communicate(timeout=30)
        assert said.split("\n") == ["activate 200", "poll 304", "poll 200", "target=19", ""]


class Client:
    """A thermostat that uses requests."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.statuses: list[int] = []
        self.session = requests.Session()

    def send(self, path: str, **data: str) -> requests.Response:
        answer = self.session.post(f"{self.url}{path}", data=data, timeout=20)
        self.statuses.append(answer.status_code)
        return answer

    def activate(self) -> None:
        self.session.headers.pop("X-Platform-CIK", None)
        self.session.headers["X-Platform-CIK"] = self.send("/provision/activate", id="t-002").text

    def write(self, temperature: str) -> None:
        for _ in range(5):
            status = self.send("/onep:v1/stack/alias", temperature=temperature).status_code
            if status == 204:
                return
            if status == 401:
                self.activate()


@pytest.mark.usefixtures("trusting")
class TestRequests:
    @pytest.fixture
    def trusting(self, client_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", client_environment["REQUESTS_CA_BUNDLE"])

    def test_it_tries_again(self, lab: Lab, local: Product) -> None:
        lab.faults.add("POST /onep:v1/stack/alias", status=503, first=2)
        client = Client(local.url())
        client.activate()
        client.write("20")
        assert client.statuses == [200, 503, 503, 204]
        assert [each.values for each in lab.journal.writes("t-002")] == [{"temperature": "20"}]

    def test_it_provisions_anew(self, local: Product) -> None:
        client = Client(local.url())
        client.activate()
        local.forget_credentials("t-002")
        client.write("20")
        assert client.statuses == [200, 401, 200, 204]

    def test_its_process_sees_the_wall_clock(self, lab: Lab, local: Product) -> None:
        """A client's own clock is the host's, also where the lab's clock is virtual: /timestamp is lab time."""
        assert abs(int(run("date", "+%s").stdout) - time.time()) < 60
        before = int(requests.get(local.url("/timestamp"), timeout=20).text)
        lab.clock.advance(days=1)
        assert int(requests.get(local.url("/timestamp"), timeout=20).text) == before + 86400
