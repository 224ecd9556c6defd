"""The bisection that is read is the one that git itself makes."""

import pathlib
import subprocess

import pytest

from harness.campaign import git_bisections


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def eleven(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve commits in the current folder; the first is good."""
    monkeypatch.chdir(tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "nobody")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "nobody@example.invalid")
    git("init", "--quiet")
    for number in range(12):
        git("commit", "--quiet", "--allow-empty", "-m", f"commit {number}")


def figures() -> tuple[int, int, int, int] | None:
    found = git_bisections.read()
    return (found.number, found.steps, found.about, found.news) if found else None


def test_a_search_is_read_step_by_step_and_skips_are_no_steps(eleven: None) -> None:
    assert figures() is None
    git("bisect", "start", "HEAD", "HEAD~11")
    assert figures() == (1, 4, 4, 0)
    start = git_bisections.read()
    git("bisect", "skip")
    assert figures() == (1, 4, 4, 0)
    git("bisect", "bad")
    assert figures() == (2, 4, 4, 1)
    git("bisect", "good")
    found = git_bisections.read()
    assert found is not None
    assert (found.number, found.steps, found.news) == (3, 4, 1)
    assert start is not None
    assert start.start == found.start
    git("bisect", "reset")
    assert figures() is None


def test_ends_that_come_one_by_one_and_other_terms_are_read_alike(eleven: None) -> None:
    git("bisect", "start", "--term-old=broken", "--term-new=fixed")
    assert figures() is None
    git("bisect", "fixed", "HEAD")
    assert figures() is None
    git("bisect", "broken", "HEAD~11")
    assert figures() == (1, 4, 4, 0)
    git("bisect", "fixed")
    assert figures() == (2, 4, 4, 1)
    found = git_bisections.read()
    assert found is not None
    assert (found.known("first good")["invalid"], found.known("first bad")["invalid"]) == (0, 1)


def test_without_git_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert git_bisections.read() is None
