"""Keystore service: a key-value store with Redis commands, embedded or external."""

from labkit.services.keystore.service import Keystore

__all__ = ["Keystore"]
