"""Settings of a lab, from lab.yaml or from arguments in a cell, as typed models; one module for each section.

An invalid setting raises SettingsError with the key (`products.lamp.auth`), the expected value and, for a file, the
line.
"""

from labkit.settings.faults import FaultKeywords, FaultSettings
from labkit.settings.file import load, load_folder
from labkit.settings.guard import Guard
from labkit.settings.lab import LabKeywords, LabSettings, check_names
from labkit.settings.messaging import (
    MessagingAccount,
    MessagingCredentials,
    MessagingService,
    MessagingSettings,
)
from labkit.settings.overlap import OverlapKeywords, OverlapSettings
from labkit.settings.products import (
    ContentFile,
    IdentityFormat,
    NumberRange,
    ProductKeywords,
    ProductSettings,
    Resource,
)
from labkit.settings.providers import (
    SOCIAL,
    ApplicationSettings,
    Outside,
    Person,
    ProvidersSettings,
    SocialKeywords,
    SocialSettings,
)
from labkit.settings.sections import ControlSettings, JournalSettings, PasswordSettings, TlsSettings
from labkit.settings.solutions import QuotaSettings, SolutionKeywords, SolutionSettings, SubscriptionSettings
from labkit.settings.validation import build, listed, shown_key
from labkit.settings.values import REVEAL, Auth, Model
from labkit.settings.wire import FIELD, PROFILES, Wire

__all__ = [
    "FIELD",
    "PROFILES",
    "REVEAL",
    "SOCIAL",
    "ApplicationSettings",
    "Auth",
    "ContentFile",
    "ControlSettings",
    "FaultKeywords",
    "FaultSettings",
    "Guard",
    "IdentityFormat",
    "JournalSettings",
    "LabKeywords",
    "LabSettings",
    "MessagingAccount",
    "MessagingCredentials",
    "MessagingService",
    "MessagingSettings",
    "Model",
    "NumberRange",
    "Outside",
    "OverlapKeywords",
    "OverlapSettings",
    "PasswordSettings",
    "Person",
    "ProductKeywords",
    "ProductSettings",
    "ProvidersSettings",
    "QuotaSettings",
    "Resource",
    "SocialKeywords",
    "SocialSettings",
    "SolutionKeywords",
    "SolutionSettings",
    "SubscriptionSettings",
    "TlsSettings",
    "Wire",
    "build",
    "check_names",
    "listed",
    "load",
    "load_folder",
    "shown_key",
]
