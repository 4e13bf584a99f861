"""The Keystore service: a key-value store that speaks Redis, embedded or outside."""

from labkit.services.keystore.service import Keystore

__all__ = ["Keystore"]
