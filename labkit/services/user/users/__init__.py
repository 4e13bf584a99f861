"""The group Users: accounts, and the data stored with them.

`operations` and `data` hold the operations that scripts call; `filters` reads the filters of listUsers.
"""
