"""Notify: notifications to people and devices, through a provider of push, SMS and chat (document 3)."""
