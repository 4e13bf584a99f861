"""Plugins of a pytest that a test starts: those of labkit, asyncio, timeouts and xdist.

Others that the environment has for labkit's own tests (nbval and schemathesis) take longer to import than most tests.
"""

ENVIRONMENT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "labkit.testing.plugin,pytest_asyncio.plugin,pytest_timeout,xdist.plugin,xdist.looponfail",
}
