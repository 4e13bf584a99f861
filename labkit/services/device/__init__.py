"""Device: the older service for the devices of a solution's products, with procedures on clients and resources."""

from labkit.services.device.service import DeviceService

__all__ = ["DeviceService"]
