"""Notify: messages to people and devices, by way of a provider of push, SMS and chat (document 3)."""
