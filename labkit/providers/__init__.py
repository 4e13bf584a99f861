"""Simulated services outside of the platform: mail, identity providers, and the provider of push, SMS and chat."""
