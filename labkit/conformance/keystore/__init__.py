"""What a script meets when it calls Keystore (document 1)."""
