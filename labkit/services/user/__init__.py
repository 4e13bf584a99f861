"""The User service (document 2): a file for each group of operations, and what they share.

jwt, oauth, roles, socials, users hold the operations; `service` puts them together; `parts` is what each group
is handed; `people` holds the accounts that all groups refer to, `keys` what tokens are signed with, `errors`
the error object of this service.
"""
