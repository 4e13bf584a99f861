"""Device2: the devices of a solution's products, for its scripts."""

from labkit.services.device2.service import Device2

__all__ = ["Device2"]
