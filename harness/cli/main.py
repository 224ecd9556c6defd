"""The entry point. It decides what an interruption does before it imports the commands, which takes some tenths of a second."""

import sys

from harness.cli import interruptions


def main() -> None:
    """Run the command and exit."""
    interruptions.end_at_once()
    from harness.cli import commands

    sys.exit(commands.run())


if __name__ == "__main__":
    main()
