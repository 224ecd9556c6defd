"""A repository of twelve commits of a small scheduler, one of which brings a race.

The race is none of chance inside the program: claims are listed before the lock is taken, so that a
worker may choose from a list that is older than the end of another worker's write. It is up to the
machine whether that happens in a run.
"""

import pathlib
import subprocess
from collections.abc import Iterable

FOLDER = pathlib.Path(__file__).parent
PROGRAM, SCENARIO = "two_workers.py", "few-pods.toml"
COMMITS = 12
DEFECT = "list the claims before the lock is taken: a worker waits half as long"
_UNDER_THE_LOCK = """\
    with LOCK:
        used = used_devices()
"""
_BEFORE_THE_LOCK = """\
    used = used_devices()
    with LOCK:
"""
_HARMLESS = (
    ("wait for an answer for a minute", "TIMEOUT_S = 2, 0.05, 30", "TIMEOUT_S = 2, 0.05, 60"),
    ("look for pods more often", "TIMEOUT_S = 2, 0.05, 60", "TIMEOUT_S = 2, 0.03, 60"),
    ("say who calls", 'headers = {"Auth', 'headers = {"User-Agent": SCHEDULER, "Auth'),
    ("name the threads", "(target=work, ", '(target=work, name="worker", '),
    ("say what was allocated", "    finally:\n", "        print(name, device)\n    finally:\n"),
    ("print at once", "print(name, device)", "print(name, device, flush=True)"),
    ("say what free means", '"""A free device', '"""A free device, in no claim,'),
    ("ask for JSON", '"Content-Type"', '"Accept": "application/json", "Content-Type"'),
    ("see that an answer is good", "answer.status >= 300", "not 200 <= answer.status < 300"),
    (
        "do not look at pods that are bound",
        "uid not in",
        "pod['spec'].get('nodeName') is None and uid not in",
    ),
)


def repository(folder: pathlib.Path, *, defect_at: int) -> list[str]:
    """Make the repository in a new folder; return the commits from the first to the last.

    `defect_at`: the commit with the defect, counted from 1; the first one has no change.
    """
    changes = [*_HARMLESS]
    changes.insert(defect_at - 2, (DEFECT, _UNDER_THE_LOCK, _BEFORE_THE_LOCK))
    return of_changes(folder, changes)


def of_changes(folder: pathlib.Path, changes: Iterable[tuple[str, str, str]]) -> list[str]:
    """Make a repository with a commit for the program, and one for each change: its subject, and
    the text that it replaces by another. Return the commits from the first to the last.
    """
    _git(folder.parent, "init", "--quiet", str(folder))
    text = (FOLDER / PROGRAM).read_text()
    (folder / SCENARIO).write_bytes((FOLDER / SCENARIO).read_bytes())
    commits = [_commit(folder, text, "schedule pods by two workers")]
    for subject, old, new in changes:
        if text.count(old) != 1:
            raise AssertionError(f"{subject}: expected {old!r} once in the program")
        text = text.replace(old, new)
        commits.append(_commit(folder, text, subject))
    return commits


def _commit(folder: pathlib.Path, text: str, subject: str) -> str:
    (folder / PROGRAM).write_text(text)
    _git(folder, "add", ".")
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.invalid")
    _git(folder, *who, "commit", "--quiet", "-m", subject)
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: pathlib.Path, *words: str) -> str:
    ended = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return ended.stdout.strip()
