"""What a device meets over HTTPS (document 1)."""
