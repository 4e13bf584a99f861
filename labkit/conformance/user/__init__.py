"""The User service, and the solution of the guides (document 2)."""
