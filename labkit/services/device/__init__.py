"""Device: the older service for the devices of a solution's products, with procedures on clients and resources."""

from labkit.services.device.service import Device

__all__ = ["Device"]
