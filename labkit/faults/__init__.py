"""Named faults that a user or a check injects into requests, service calls, events, outgoing requests and providers.

In a lab without faults, each injection point costs one test.
"""

from labkit.faults.awaited import AWAITED, awaited_as
from labkit.faults.faults import Faults
from labkit.faults.provider_faults import ProviderFaults
from labkit.faults.requests import FaultAnswer
from labkit.faults.rows import FaultRow

__all__ = ["AWAITED", "FaultAnswer", "FaultRow", "Faults", "ProviderFaults", "awaited_as"]
