"""The entry point; installs signal handlers before the slow import of the commands."""

import gc
import os
import sys

from harness.cli import interruptions

GARBAGE_THRESHOLD = 20_000
"""Objects more than before, after which Python looks for cycles; 700 make the start slower."""


def main() -> None:
    interruptions.end_at_once()
    gc.set_threshold(GARBAGE_THRESHOLD)
    # numpy multiplies nothing large here, and threads for it take as long as its own import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from harness.cli import commands, git_codes

    sys.exit(git_codes.run(commands.run, sys.argv[1:]))


if __name__ == "__main__":
    main()
