"""Solutions that the checks use."""

from labkit.conformance.keystore.further import checks as further
from labkit.conformance.keystore.operations import checks_commands
from labkit.services.keystore.commands import COMMANDS, LISTED


def test_every_keystore_command_is_tested() -> None:
    rows = [each for each in vars(checks_commands).values() if isinstance(each, list)]
    played = {command for row in rows for command, _, _ in row}
    with_times = {"expireat", "pexpireat"}  # the check of expiry derives these from the target's clock
    assert played | with_times == LISTED


def test_every_keystore_command_beyond_the_list_is_tested() -> None:
    rows = [each for each in vars(further).values() if isinstance(each, list)]
    played = {command for row in rows for command, *_ in row}
    drawn = {"hrandfield", "zrandmember"}  # have a check of their own
    assert (played | drawn) - LISTED == COMMANDS.keys() - LISTED
