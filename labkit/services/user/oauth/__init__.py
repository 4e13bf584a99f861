"""The group Oauth: the platform as an OAuth provider.

`operations` contains the operations that scripts call; clients, approvals, codes, tokens and access_tokens implement
them.
"""
