"""The handles that notebooks hold, a file each: thin, synchronous, typed; the platform does the work."""
