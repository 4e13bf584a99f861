"""The Scripts service: events that a solution raises for itself."""

from labkit.services.scripts.service import ScriptsService as ScriptsService
