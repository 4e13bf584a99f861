"""JupyterLab in a real browser: the dashboard of 20_live_fleet, the colours of cells in Lua, and a learner's day."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import nbformat
import pytest

from labkit.reporting.run_notebook import read
from labkit.widgets import output
from tests.chromium import Tab, browser, needs_chromium

pytestmark = [pytest.mark.sampled, needs_chromium, pytest.mark.timeout(900)]

CHECKOUT = Path(__file__).parents[2]
NOTEBOOKS = CHECKOUT / "notebooks"
OURS = ("JUPYTER_", "JPY_", "PYDEVD_")  # environment variables that a notebook around this test may set
PATIENCE = 240.0  # seconds of real time: only a guard, since a busy machine may take long
OPTIONS = (
    "--no-browser --allow-root --ServerApp.port=0 --ServerApp.token=token --LabApp.expose_app_in_browser=True "
    "--ServerApp.terminals_enabled=False"
)
QUIET = "--LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"
RUN = """(async () => {
    const app = window.jupyterapp;
    const [panel] = app ? [...app.shell.widgets('main')] : [];
    if (!panel || !panel.sessionContext || !document.querySelector('.jp-CodeCell')) return false;
    await panel.sessionContext.ready;
    app.shell.activateById(panel.id);
    return app.commands.execute('notebook:run-all-cells').then(() => true);
})()"""
PRESS = """(name => {
    const found = [...document.querySelectorAll('.labkit-dashboard button')]
        .find(each => each.textContent.includes(name) && !each.disabled);
    if (found) found.click();
    return Boolean(found);
})('%s')"""
NUMBER = """(name => {
    const tile = document.querySelector(`.labkit-tile[data-name="${name}"] b`);
    return tile ? Number(tile.textContent.replaceAll(',', '')) : -1;
})('%s')"""
STATE = "(document.querySelector('.labkit-badge') || {}).textContent"
DRAWN = "document.querySelectorAll('.bqplot path.line[d]').length"


async def until(tab: Tab, expression: str, wanted: str = "value") -> None:
    """Return once an expression is true; `wanted` is a further expression, of its `value`."""
    found: Any = None
    try:
        async with asyncio.timeout(PATIENCE):  # another process, which sends no notification
            while True:
                found = await tab.evaluate(
                    f"(async () => {{ const value = await {expression}; return [{wanted}, value] }})()"
                )
                if found[0]:
                    return
                await asyncio.sleep(0.1)
    except TimeoutError:
        seen = await tab.evaluate("document.body.innerText")
        raise AssertionError(f"{wanted} of {expression}: {found} after {PATIENCE:g} s; {seen}") from None


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(f"{url}api", params={"token": "token"}) as answer:
            assert answer.status == 200
    except aiohttp.ClientConnectorError:
        return False
    return True


@asynccontextmanager
async def serving(*command: str, folder: Path, env: dict[str, str], info: Path) -> AsyncIterator[str]:
    """Provide the URL of JupyterLab, which a command starts in a folder. info: where the server says its port."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(OURS)} | env,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
            while not (found := list(info.glob("jpserver-*.json"))) or not found[0].read_text().endswith("}"):  # noqa: ASYNC110, ASYNC240
                await asyncio.sleep(0.1)
            url = str(json.loads(found[0].read_text())["url"])
            while not await _answers(session, url):  # noqa: ASYNC110  the file may be there before it listens
                await asyncio.sleep(0.1)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # it ends its kernels, too
        await process.wait()


def jupyterlab(folder: Path) -> AbstractAsyncContextManager[str]:
    """Provide the URL of JupyterLab over a folder, which also has all of its files."""
    kept = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
    own = {name: str(folder / "var" / name.lower()) for name in kept}
    own["PYTHONPATH"] = str(CHECKOUT)
    extension = Path(own["JUPYTER_DATA_DIR"]) / "labextensions" / "labkit"
    shutil.copytree(
        Path(output.__file__).parent / "labextension", extension
    )  # of this tree, installed or not
    command = (
        sys.executable,
        "-m",
        "jupyterlab",
        *OPTIONS.split(),
        *QUIET.split(),
        f"--ServerApp.root_dir={folder}",
    )
    return serving(*command, folder=folder, env=own, info=folder / "var" / "jupyter_runtime_dir")


@pytest.fixture
async def tab(tmp_path: Path, chromium_port: int) -> AsyncIterator[Tab]:
    """JupyterLab with the cells of the notebook up to its dashboard."""
    folder = tmp_path / "notebooks"
    shutil.copytree(NOTEBOOKS / "solutions", folder / "solutions")
    book = read(NOTEBOOKS / "20_live_fleet.ipynb")
    shown = next(n for n, cell in enumerate(book.cells) if "fleet.dashboard(" in cell.source)
    del book.cells[shown + 1 :]
    book.cells[shown].outputs = []
    [parameters] = [cell for cell in book.cells if "parameters" in cell.metadata.get("tags", [])]
    parameters.source += (
        "\nminutes = 10_000\ndevices = 3"  # it lasts until it is stopped, with gaps between requests
    )
    nbformat.write(book, folder / "live.ipynb")
    async with jupyterlab(folder) as url, browser(chromium_port) as tab:
        await tab.size(1200)
        await tab.goto(f"{url}doc/tree/live.ipynb?token=token")
        await until(tab, RUN)
        yield tab


async def test_start_changes_numbers(tab: Tab, tmp_path: Path) -> None:
    await until(tab, STATE, "value === 'not begun'")
    await until(tab, PRESS % "Start")
    await until(tab, NUMBER % "requests", "value > 0")
    first = await tab.evaluate(NUMBER % "requests")
    await until(tab, NUMBER % "requests", f"value > {first}")
    await until(tab, DRAWN, "value > 0")
    picture = tmp_path / "dashboard.png"
    picture.write_bytes(await tab.screenshot())
    assert picture.stat().st_size > 20_000  # a page without content is smaller
    await until(tab, NUMBER % "requests", "value > 30")  # by then some intervals had no requests
    await tab.size(640)  # all figures are drawn anew
    await until(tab, PRESS % "Stop")
    await until(tab, STATE, "value === 'stopped'")
    assert await tab.errors() == []


CELLS = """(() => {
    const [panel] = window.jupyterapp ? [...window.jupyterapp.shell.widgets('main')] : [];
    return panel ? [...panel.content.widgets] : [];
})()"""
COMMENTS = f"""{CELLS}.map(cell => [...cell.node.querySelectorAll('.cm-line span')]
    .filter(each => each.textContent.includes('--')).map(each => each.textContent).join())"""
KERNEL = """(() => {
    const [panel] = window.jupyterapp ? [...window.jupyterapp.shell.widgets('main')] : [];
    return panel && panel.content.model && panel.content.model.metadata.language_info || {};
})()"""


async def test_cells_in_lua_have_the_colours_of_lua(tmp_path: Path, chromium_port: int) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    texts = ("%%lua acme\nlocal a = 1 -- one", "a = 1 # --two")
    book.cells = [nbformat.v4.new_code_cell(each) for each in texts]
    nbformat.write(book, tmp_path / "lua.ipynb")
    async with jupyterlab(tmp_path) as url, browser(chromium_port) as tab:
        await tab.goto(f"{url}doc/tree/lua.ipynb?token=token")
        await until(tab, f"{KERNEL}.name", "value === 'python'")  # of the kernel: it sets all cells' language
        await until(tab, COMMENTS, "value[0] === '-- one' && value[1] === '# --two'")
        set_source = f"{CELLS}[1].model.sharedModel.setSource('%s')"
        await tab.evaluate(set_source % "%%lua acme\\n-- three")
        await until(tab, COMMENTS, "value[1] === '-- three'")
        await tab.evaluate(set_source % "b = 2 # --four")
        await until(tab, COMMENTS, "value[1] === '# --four'")
        assert await tab.errors() == []


# ---- a learner's day, from `make lab` on

PANEL = "window.jupyterapp.shell.currentWidget"
OPENED = f"""(async () => {{
    const panel = window.jupyterapp && {PANEL};
    if (panel?.context?.path !== '%s') return false;
    await panel.revealed;
    await panel.sessionContext.ready;
    return Boolean(panel.sessionContext.session?.kernel);
}})()"""
SOURCES = f"{PANEL}.content.widgets.map(each => each.model.sharedModel.getSource())"
ADD_CELL = f"{PANEL}.content.model.sharedModel.addCell({{cell_type: 'code', source: %s}}) && 1"
SET_CELL = f"{PANEL}.content.widgets.at(-1).model.sharedModel.setSource(%s)"
BEGIN = f"""(() => {{
    window.ended = false;
    {PANEL}.content.activeCellIndex = %d;
    window.jupyterapp.commands.execute('notebook:run-cell').then(() => window.ended = true);
}})()"""
OUTPUTS = f"{PANEL}.content.widgets[%d].model.outputs.toJSON()"
COMMAND = "window.jupyterapp.commands.execute('%s', %s).then(() => true)"
SET_SPEED = """(rates => {
    rates.selectedIndex = [...rates.options].findIndex(each => each.value === '10 ×');
    rates.dispatchEvent(new Event('change', {bubbles: true}));
})(document.querySelector('.labkit-dashboard select'))"""
NO_ICONS = """[...document.querySelectorAll('.labkit-dashboard button i')]
    .filter(each => getComputedStyle(each, '::before').content === 'none').map(each => each.className)"""
HEAD = "(document.querySelector('.labkit-head') || {}).textContent"
Outputs = list[dict[str, Any]]


class Learner:
    """A person before a browser's tab, who works in one notebook after the other."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab

    async def opens(self, name: str) -> None:
        await self._tab.evaluate(COMMAND % ("docmanager:open", {"path": name}))
        await until(self._tab, OPENED % name)

    async def runs(self, part: str, stop_at: str = "") -> Outputs:
        """Run the only cell with this text; press the stop button once its outputs have the text `stop_at`."""
        sources = await self._tab.evaluate(SOURCES)
        [number] = [n for n, each in enumerate(sources) if part in each]
        await self._tab.evaluate(BEGIN % number)
        if stop_at:
            await until(self._tab, f"JSON.stringify({OUTPUTS % number})", f"value.includes('{stop_at}')")
            await self._tab.evaluate(COMMAND % ("notebook:interrupt-kernel", "{}"))
        await until(self._tab, "window.ended")
        outputs: Outputs = await self._tab.evaluate(OUTPUTS % number)
        return [each for each in outputs if each.get("data") != {}]  # a place of progress, which is over

    async def writes(self, text: str, *, anew: bool = False, stop_at: str = "") -> Outputs:
        """Run a new cell at the end, or the last one written anew, as `runs` does."""
        await self._tab.evaluate((SET_CELL if anew else ADD_CELL) % json.dumps(text))
        return await self.runs(text, stop_at)


def said(outputs: Outputs) -> str:
    """Return the only line of an error."""
    [output] = [each for each in outputs if each["output_type"] == "error"]
    [line] = output["traceback"]
    return str(line)


def git(folder: Path, words: str) -> str:
    name = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *name, *words.split()], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.skipif(not (shutil.which("git") and shutil.which("make")), reason="no git, or no make here")
async def test_a_learners_day_leaves_the_checkout_clean(tmp_path: Path, chromium_port: int) -> None:
    checkout = tmp_path / "checkout"
    left_out = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "my-*")
    shutil.copytree(CHECKOUT, checkout, ignore=left_out)
    for words in ("init -q", "add -A", "commit -q -m all"):
        git(checkout, words)
    (tmp_path / "has-lab").touch()  # else make would install all anew
    command = f"make lab BIN={Path(sys.executable).parent} HAS={tmp_path}/has- "
    serving_it = serving(
        *(*command.split(), f"ARGS={OPTIONS}"),
        folder=checkout,
        env={"PYTHONPATH": str(checkout)},
        info=checkout / ".venv" / "var" / "jupyter" / "runtime",
    )
    async with serving_it as url, browser(chromium_port) as tab:
        learner = Learner(tab)
        await tab.size(1200)
        await tab.goto(f"{url}?token=token")
        await until(tab, OPENED % "00_start.ipynb")
        [output] = await learner.runs("with Lab(")
        assert output["text"] == "labkit works here: 1 write over HTTPS\n"
        await learner.opens("20_live_fleet.ipynb")
        assert await learner.runs("seed = 7") == []
        await learner.runs("fleet.dashboard(")
        await uses_the_dashboard(tab)
        await mends_a_handler(learner)
        await interrupts(learner)
        await tab.evaluate(COMMAND % ("docmanager:save-all", "{}"))
    assert git(checkout, "status --porcelain") == ""
    assert "goes on" in (checkout / "my-notebooks" / "30_hunt.ipynb").read_text()


async def uses_the_dashboard(tab: Tab) -> None:
    await until(tab, STATE, "value === 'not begun'")
    await until(tab, PRESS % "Start")
    await until(tab, NUMBER % "requests", "value > 0")
    await until(tab, PRESS % "Pause")
    await until(tab, STATE, "value === 'paused'")
    assert await tab.evaluate(NO_ICONS) == []
    await until(tab, PRESS % "Resume")
    await tab.evaluate(SET_SPEED)
    await until(tab, HEAD, "value.includes('running') && value.includes('10 × real time')")
    await until(tab, PRESS % "Add fault")
    await until(tab, HEAD, "value.includes('faults: answer 503')")
    await until(tab, NUMBER % "errors", "value > 0")
    await until(tab, PRESS % "Clear faults")
    await until(tab, PRESS % "Stop")
    await until(tab, STATE, "value === 'stopped'")
    assert await tab.errors() == []


async def mends_a_handler(learner: Learner) -> None:
    cell = "%%lua acme device datapoint\nlocal value = = event\nKeystore.set{key = 'seen', value = 1}"
    assert "device_datapoint:2: unexpected symbol near '='" in said(await learner.writes(cell))
    assert await learner.writes(cell.replace("= =", "="), anew=True) == []
    write = "thermostat.device('t-1').activate().write(temperature=21)"
    [seen] = await learner.writes(f"{write}; acme.Keystore.get(key='seen')")
    assert seen["data"]["text/plain"] == "{'value': '1'}"


async def interrupts(learner: Learner) -> None:
    """A fleet's run, checks and a hunt are stopped, each with a sentence, and what follows works."""
    stopped = said(await learner.writes("fleet.run(minutes=100)", stop_at="Fleet.run: "))
    assert re.fullmatch(r"KeyboardInterrupt: stopped at .* of lab time, .* fleet\.last, .*", stopped)
    [run] = await learner.writes("fleet.last.done, fleet.last.stopped")
    assert run["data"]["text/plain"] == "(True, True)"
    assert "checks were over" in said(await learner.runs("verdicts(", stop_at=" checks"))
    await learner.opens("30_hunt.ipynb")
    for part in ("seeds = 12", "@story"):
        assert await learner.runs(part) == []
    told, hunted = await learner.writes("hunt(counting, stop='never', shrink=0)", stop_at=" faults, ")
    assert "LabWarning: hunt interrupted after " in told["text"]
    assert "; interrupted, " in hunted["data"]["text/plain"]
    [output] = await learner.writes("print('goes on')")
    assert output["text"] == "goes on\n"
