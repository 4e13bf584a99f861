"""The group Roles, and the permissions of the group Users.

roles, permissions and assignments hold the operations; `arguments` their name rules, `tables` their database
tables.
"""
