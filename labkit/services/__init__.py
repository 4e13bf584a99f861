"""The services that solution scripts call; all follow the same design."""
