"""How scripts call Notify, and the credentials and parameters that its provider requires (document 3)."""
