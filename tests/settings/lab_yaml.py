"""A lab.yaml with all keys, and functions that load a text as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.core.errors import SettingsError
from labkit.settings import (
    LabSettings,
    load,
)

WHOLE = """\
domain: lab.localhost
https_port: 8443
journal: {records: 200000, field: 4096, values: false}
passwords: {memory: 1024, passes: 1}
http_port: null
proxy_port: null
tls: {key: ec, certificate: null, private_key: null}
data: null
keystore: null
profile: spec
wire:
  token_headers: [X-Platform-CIK]
  authorization_token: true
  last_modified: timestamp
  range_status: 200
  download_framing: both
guard: {header: 10.0, body: 5}
products:
  - id: thermostat
    domain: null
    auth: token
    self_registration: true
    identity_format: {type: opaque}
    resources:
      temperature: {format: number, allowed: [{min: -40, max: 85}, 999]}
      message: string
    identities: [t-001]
    content:
      - {id: fw-1.2.bin, file: fw-1.2.bin, type: application/octet-stream, description: firmware 1.2}
solutions:
  - id: acme
    path: metrics
    products: [thermostat]
    services: {Notify: {AccountSid: AC1, AuthToken: abc}}
stubs:
  Twilio: {postMessage: {sid: SM1, parts: [1, 2.5]}, listMessage: [], cancel: null}
faults:
  - {name: busy, where: POST /onep:v1/stack/alias, status: 503, headers: {Retry-After: "5"}, every: 10, product: t*}
  - {where: User.listUsers, drop: creation_date, replace: {email: null}, if_status: 200, solution: [acme]}
  - {where: device datapoint, doubled: true, late: 2.5, chance: 0.25, first: 3, identity: t-*}
  - {where: https://api.example.com, cut: after}
  - {where: provider google token, does: slow}
"""


def loaded(folder: Path, text: str) -> LabSettings:
    file = folder / "lab.yaml"
    file.write_text(text)
    return load(file)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(SettingsError) as error:
        loaded(folder, text)
    return str(error.value)
