"""Check of the settings of a platform that is never started."""

from __future__ import annotations

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.device_api.api import register_product
from labkit.devices.devices import Devices
from labkit.edge.certificates import certificates
from labkit.settings import shown_key
from labkit.solutions.solutions import Solutions


def problems(context: Context, devices: Devices, solutions: Solutions) -> list[str]:
    """Return a sentence for each mistake in the settings and in the files that they name.

    It reads the files of products and the folders of solutions, compiles their scripts and checks what they configure.
    No script runs.
    """
    settings = context.settings
    found = []
    if settings.tls.certificate is not None:
        try:
            certificates(settings.tls, None)
        except SettingsError as error:
            found.append(str(error))
    for product in settings.products:
        try:
            register_product(product, devices, context)
            for item in product.content:
                devices.read_content(product.id, item)
        except SettingsError as error:
            found.append(str(error))
    found += solutions.problems(settings.solutions)
    for number, problem in context.faults.problems():
        found.append(f"{shown_key(('faults', number), settings)}: {problem}")
    for solution in solutions:
        solution.close()
    return found
