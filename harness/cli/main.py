"""The entry point; installs signal handlers before the slow import of the commands.

A test with `--bisect` has the exit codes that `git bisect run` wants: git takes every code from 1
to 127, except 125, for bad. So one of a mistake would name a revision that is not to blame. An
error of the harness says that nothing can be said; only a command line that cannot be read ends
the search, because it would be the same at every revision.
"""

import gc
import os
import sys
from collections.abc import Callable, Sequence

from harness.cli import interruptions

GARBAGE_THRESHOLD = 20_000
"""Objects more than before, after which Python looks for cycles; 700 make the start slower."""
FIX = "--bisect-fix"
_BEGIN = "--bis"
"""All options of a bisection begin so, and most mistakes in them: none of these is a bad code."""
OLD, NEW, SKIP, ABORT = 0, 1, 125, 255
"""As the term for older revisions, and for newer ones; neither; end the search."""
_VALID, _INVALID = 0, 10
_WORDS = {_VALID: "good", _INVALID: "bad"}
_WORDS_OF_FIX = {_VALID: "fixed", _INVALID: "not fixed"}


def main() -> None:
    interruptions.end_at_once()
    gc.set_threshold(GARBAGE_THRESHOLD)
    # numpy multiplies nothing large here, and threads for it take as long as its own import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from harness.cli import commands

    sys.exit(run(commands.run, sys.argv[1:]))


def run(command: Callable[[int], int], arguments: Sequence[str]) -> int:
    """Return the exit code of a command, which is given the code for a wrong command line."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if arguments[:1] != ["test"] or not any(word.startswith(_BEGIN) for word in options):
        return command(2)
    try:
        code = command(ABORT)
    except Exception:  # noqa: BLE001 - git would take Python's exit code 1 for a bad revision
        import traceback

        traceback.print_exc()
        return SKIP
    if code in (ABORT, interruptions.EXIT_CODE):
        return code
    is_fix = FIX in options
    words = _WORDS_OF_FIX if is_fix else _WORDS
    print(f"bisect: {words.get(code, 'cannot tell')}", file=sys.stderr)
    good, bad = (NEW, OLD) if is_fix else (OLD, NEW)
    return {_VALID: good, _INVALID: bad}.get(code, SKIP)


if __name__ == "__main__":
    main()
