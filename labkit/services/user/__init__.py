"""The User service (document 2): a folder or module for each group of operations, and the code that they share.

jwt, oauth, roles, socials and users contain the operations; `service` combines them. `group` is their base class, with
the signing keys (`keys`) and the password hashing (`passwords`). `accounts` stores the users, `user_tokens` issues
and verifies their login tokens, `errors` builds the error objects of this service.
"""
