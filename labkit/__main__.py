"""Entry point of `labkit` and of `python -m labkit`."""

import sys


def main() -> None:
    """Run a command line. An interrupt while its code is imported is a sentence, as all others."""
    try:
        from labkit.cli import main as run
    except KeyboardInterrupt:
        print("labkit: interrupted while it started", file=sys.stderr)  # noqa: T201
        sys.exit(130)  # as shells report it
    run(prog_name="labkit")


if __name__ == "__main__":
    main()
