"""Entry point of `python -m labkit`, with the commands of `labkit`."""

from labkit.cli import main

if __name__ == "__main__":
    main(prog_name="labkit")
