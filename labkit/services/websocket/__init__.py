"""Service Websocket: the open websockets of a solution's clients."""

from labkit.services.websocket.service import ServedWebsocket, Websocket

__all__ = ["ServedWebsocket", "Websocket"]
