"""How scripts call Notify, and what its provider asks of them (document 3)."""
