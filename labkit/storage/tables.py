"""The one collection of table definitions; each package declares its own tables on it."""

from __future__ import annotations

from sqlalchemy import MetaData

metadata = MetaData()
