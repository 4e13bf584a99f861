"""The lab's data: its database in memory or in a file, copies of it for threads, and upgrades of older files."""
