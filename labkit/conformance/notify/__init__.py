"""What scripts meet when they call Notify (document 3)."""
