"""Changelog and pages of findings are what their programs write."""

import functools

import pytest

from harness.scenario import loading
from tools import collect_changes, finding_pictures, findings_index


def test_changes_are_collected_at_the_end_of_what_is_unreleased() -> None:
    changelog = "# Changelog\n\n## Unreleased, to be 0.2.0\n\n- One.\n\n## 0.1.0\n\n- Older.\n"
    found = collect_changes.collected(changelog, ["A new\nkey.\n", "word " * 30])
    assert found.startswith(
        "# Changelog\n\n## Unreleased, to be 0.2.0\n\n- One.\n- A new key.\n- word "
    )
    assert "\n  word" in found
    assert found.endswith("\n\n## 0.1.0\n\n- Older.\n")


def test_the_pages_of_the_findings_have_what_their_front_matter_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each page looks for its scenarios: they are loaded once."""
    monkeypatch.setattr(loading, "load", functools.cache(loading.load))
    other = [path.name for path, text in findings_index.pages().items() if path.read_text() != text]
    assert other == [], "python tools/findings_index.py writes them"


def test_the_pictures_of_the_findings_are_those_of_their_steps() -> None:
    there = {path.name: path.read_text() for path in finding_pictures.FOLDER.glob("*.svg")}
    assert there == finding_pictures.drawn(), "python tools/finding_pictures.py writes them"
