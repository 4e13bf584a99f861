"""Named faults that a user or a check puts on requests, service calls, events, outgoing requests and providers.

Where there is none, nothing is paid but one test at each of these points.
"""

from labkit.faults.awaited import AWAITED
from labkit.faults.faults import FaultRow, Faults
from labkit.faults.message import Message
from labkit.faults.named import ProviderFaults
from labkit.faults.requests import Asked, FaultAnswer, Given

__all__ = ["AWAITED", "Asked", "FaultAnswer", "FaultRow", "Faults", "Given", "Message", "ProviderFaults"]
