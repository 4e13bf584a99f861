"""JupyterLab in a real browser: the dashboard of the notebook 20_live_fleet, and the colours of cells in Lua."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import nbformat
import pytest

from labkit.reporting.run_notebook import read
from labkit.widgets import output
from tests.chromium import Tab, browser, needs_chromium

pytestmark = [pytest.mark.sampled, needs_chromium, pytest.mark.timeout(900)]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
OURS = ("JUPYTER_", "JPY_", "PYDEVD_")  # environment variables that a notebook around this test may set
PATIENCE = 240.0  # seconds of real time: only a guard, since a busy machine may take long
OPTIONS = (
    "--no-browser --allow-root --ServerApp.port=0 --ServerApp.token=token --LabApp.expose_app_in_browser=True "
    "--LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate "
    "--ServerApp.terminals_enabled=False"
)
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
async def jupyterlab(folder: Path) -> AsyncIterator[str]:
    """Provide JupyterLab over a folder, which also has all of its files; return its URL."""
    kept = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
    own = {name: str(folder / "var" / name.lower()) for name in kept}
    own["PYTHONPATH"] = str(NOTEBOOKS.parent)
    extension = Path(own["JUPYTER_DATA_DIR"]) / "labextensions" / "labkit"
    shutil.copytree(
        Path(output.__file__).parent / "labextension", extension
    )  # of this tree, installed or not
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "jupyterlab", *OPTIONS.split(), f"--ServerApp.root_dir={folder}"),
        env={name: value for name, value in os.environ.items() if not name.startswith(OURS)} | own,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        info = folder / "var" / "jupyter_runtime_dir"
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
            while not (found := list(info.glob("jpserver-*.json"))) or not found[0].read_text().endswith("}"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            url = str(json.loads(found[0].read_text())["url"])
            while not await _answers(session, url):  # noqa: ASYNC110  the file may be there before it listens
                await asyncio.sleep(0.1)
        yield url
    finally:
        process.terminate()  # it ends its kernel, too
        await process.wait()


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
