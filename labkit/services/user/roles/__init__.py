"""The group Roles, and the permissions of the group Users.

roles, permissions and assignments contain the operations; `arguments` their name rules, `tables` their database
tables.
"""
