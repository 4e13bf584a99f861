"""Defaults for every test: how hypothesis searches."""

from hypothesis import settings

from tests.sizes import size

# Derandomized, so that a run says the same twice; no deadline, since the machine may be busy.
settings.register_profile("labkit", max_examples=size(30, 500), deadline=None, derandomize=True)
settings.load_profile("labkit")
