"""Notifications: their recipients, content and lifetime (document 3)."""
