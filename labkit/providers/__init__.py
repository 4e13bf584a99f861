"""The outside world, faked."""
