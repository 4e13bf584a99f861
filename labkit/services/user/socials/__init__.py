"""The group Socials: users log in with an identity provider, by OAuth 2 or OAuth 1.0a.

`operations` contains the operations that scripts call; `records` the database tables, `web` the requests to providers.
"""
