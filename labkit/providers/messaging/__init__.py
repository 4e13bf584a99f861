"""Simulated provider of push, SMS and chat (document 3, Notify): a real server that the provider's SDK can use."""
