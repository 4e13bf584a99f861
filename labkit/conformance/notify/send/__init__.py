"""Notifications: to whom, which, for how long (document 3)."""
