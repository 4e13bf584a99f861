"""The User service (document 2): a folder or module for each group of operations, and what they share.

jwt, oauth, roles, socials and users hold the operations; `service` puts them together. `group` is what each of
them rests on: the `keys` that tokens are signed with, and `passwords`. `accounts` holds those that all refer
to, `user_tokens` what they log in with, `arguments` the types of arguments they have in common, `errors` the error
object of this service.
"""
