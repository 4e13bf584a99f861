"""The group Users: accounts, their tokens, and what is kept with them.

`operations` and `data` are what scripts call; `tokens` are user tokens, `filters` those of listUsers.
"""
