"""What a notification becomes on each channel (document 3)."""
