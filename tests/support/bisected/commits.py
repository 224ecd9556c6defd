"""A repository with commits of a small scheduler."""

import pathlib
import subprocess
from collections.abc import Iterable

FOLDER = pathlib.Path(__file__).parent
PROGRAM, SCENARIO = "two_workers.py", "few-pods.toml"


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
