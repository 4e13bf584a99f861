"""Tools for developers of labkit itself, in a checkout: `python -m labkit.dev`. The wheel does not contain them."""
