"""The group Socials: people log in with an identity provider, by OAuth 2 or OAuth 1.0a.

`operations` are what scripts call; `records` is what is kept, `web` how providers are asked.
"""
