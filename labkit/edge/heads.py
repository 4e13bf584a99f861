"""Fields of a request's head in bytes that the parser could not read."""

from __future__ import annotations


def request_target(head: bytes) -> str:
    """Return the request target: the text between the method and the version."""
    return head.partition(b"\n")[0].decode("latin-1").partition(" ")[2].rpartition(" ")[0]


def fields(head: bytes, name: str) -> list[str]:
    """Return the values of the fields with this name (lower case).

    Only complete lines count, since the head may be cut anywhere.
    """
    lines = head.decode("latin-1").split("\n")[1:-1]
    parts = [line.partition(":") for line in lines]
    return [value.strip(" \t\r") for each, colon, value in parts if colon and each.lower() == name]
