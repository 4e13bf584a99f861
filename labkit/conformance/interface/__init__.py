"""What solutions meet that offer a service to others, and those that use it (document 3, Interface)."""
