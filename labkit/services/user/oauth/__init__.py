"""The group Oauth: the platform as an OAuth provider.

`operations` are what scripts call; clients, approvals, codes, tokens, access_tokens are what stands behind them.
"""
