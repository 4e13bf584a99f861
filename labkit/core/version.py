"""Version of labkit, where modules of every layer can import it."""

__version__ = "1.3.0"
