"""The solutions that the checks use."""

from labkit.conformance.keystore.operations import checks_commands
from labkit.services.keystore.commands import COMMANDS


def test_every_command_of_the_keystore_is_played() -> None:
    rows = [each for each in vars(checks_commands).values() if isinstance(each, list)]
    played = {command for row in rows for command, _, _ in row}
    with_times = {"expireat", "pexpireat"}  # which the check of expiry makes up from the target's clock
    assert played | with_times == set(COMMANDS)
