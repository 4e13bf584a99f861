"""The Timer service: messages that a solution sends to itself, later or at intervals."""

from labkit.services.timer.service import TimerService as TimerService
