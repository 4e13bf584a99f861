"""Solutions that the checks use."""

from labkit.conformance.keystore.operations import checks_commands
from labkit.services.keystore.commands import COMMANDS


def test_every_keystore_command_is_tested() -> None:
    rows = [each for each in vars(checks_commands).values() if isinstance(each, list)]
    played = {command for row in rows for command, _, _ in row}
    with_times = {"expireat", "pexpireat"}  # the check of expiry derives these from the target's clock
    assert played | with_times == set(COMMANDS)
