"""Simulated identity providers (document 2, Social login): real servers of OAuth 2 and OAuth 1.0a."""
