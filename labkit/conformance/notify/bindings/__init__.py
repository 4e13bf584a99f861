"""Bindings of Notify (document 3)."""
