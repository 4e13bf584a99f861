"""The group Users: accounts, and the data stored with them.

`operations` and `data` contain the operations that scripts call; `filters` parses the filters of listUsers.
"""
