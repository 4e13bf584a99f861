"""Code mutants of signing and verifying JSON web tokens, for faults that no fault row can express."""

from __future__ import annotations

import base64
import json

from pydantic import SecretBytes

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch

JWT = "labkit.services.user.jwt"
SHARED, TIMES = f"{JWT}:shared_secret", f"{JWT}:check_times"

key_in_base64 = patch("USR-JWT-3 USR-JWT-4", SHARED, "a secret is encoded in base64")(
    change_result(base64.b64encode)
)
numbers_with_a_point = patch(
    "USR-JWT-9", f"{JWT}:encode_payload", "whole numbers are signed with a decimal point"
)(change_result(lambda text: json.dumps(json.loads(text, parse_int=float)).encode()))
last_name_wins = patch(
    "USR-JWT-13", f"{JWT}:unique_names", "a duplicate claim is accepted, and the last one used"
)(lambda original, pairs: dict(pairs))
alive_at_its_last_second = patch("USR-JWT-14", TIMES, "a token is valid in the second of its exp")(
    change_arguments(now=lambda now: now - 1)
)
whole_seconds = patch("USR-JWT-14", TIMES, "times are compared with the current whole second")(
    change_arguments(now=lambda now: now // 1)
)
keys_are_text = patch("USR-JWT-18", SHARED, "a key in base64 is used without decoding")(
    lambda original, key: base64.b64encode(original(key)) if isinstance(key, SecretBytes) else original(key)
)
