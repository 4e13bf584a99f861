"""The User service and the example solution of the guides (document 2)."""
