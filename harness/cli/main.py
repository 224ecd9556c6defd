"""The entry point; installs signal handlers before the slow import of the commands."""

import sys

from harness.cli import interruptions


def main() -> None:
    """Run the command and exit."""
    interruptions.end_at_once()
    from harness.cli import commands

    sys.exit(commands.run())


if __name__ == "__main__":
    main()
