"""Tools for those who work on labkit itself, in a checkout: `python -m labkit.dev`. The wheel does not carry them."""
