"""Ids of clients and resources: 40 hex digits that depend on the names alone, so that every run has the same."""

from __future__ import annotations

import hashlib
from functools import lru_cache

RESOURCES = 4096  # size of the cache of resource ids


@lru_cache(RESOURCES)
def resource_id(product: str, identity: str = "", alias: str = "") -> str:
    """Return the permanent id (rid) of a resource of a device.

    Without `alias` that of the device itself, without `identity` that of the product.
    """
    # Of the three only an identity may contain a slash, so different names never give the same text.
    return hashlib.sha1(f"{product}/{identity}/{alias}".encode(), usedforsecurity=False).hexdigest()
