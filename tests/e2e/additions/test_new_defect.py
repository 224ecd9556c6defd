"""A known defect is one new file, and so is a hazard: in a copy of the package."""

import pathlib
import shutil
import subprocess
import sys

import pytest

from harness.history import directories
from tests.e2e import running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]
ROOT = pathlib.Path(__file__).parents[3]
DEFECT = '''"""Known defects of a new kind."""

from typing import Any

from harness.extensions import replacements
from harness.subject.tracking import gathering


class ForgottenGatherer(gathering.Gatherer):
    """The devices of claims whose allocation is not written yet count as free."""

    facts = replacements.Facts(
        name="in-flight-forgotten",
        issues=("kubernetes#99999",),
        releases=replacements.Releases(last="1.36.2"),
        worlds=("two-claims-one-device",),
    )

    def _add_in_flight(self, in_use: Any) -> None:
        """Leave the claims in flight out."""
'''
NAME = "H99-forgets"
HAZARD = """---
id: H99
title: A scheduler that forgets
kinds: [double allocation]
issues: []
worlds: [two-claims-one-device]
steps:
  - "scheduler -> API server: UpdateStatus claim-1: allocated"
parts: [kube-scheduler]
since_release: {release: 1.99.0, known: read}
programs:
  - {program: kube-scheduler 1.99.0, runs: 2, shown: 1, how: commanded events}
found: 2026-11-26
status: open
---
# H99: a scheduler that forgets

One more way to give a device away twice.
"""


@pytest.fixture
def package(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with a copy of the package."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("harness", "scenarios", "clusters", "docs/findings", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def _page(package: pathlib.Path, script: str) -> str:
    """Return what a program in the copy prints."""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=package, capture_output=True, text=True, check=True
    )
    return done.stdout


def _changed(scenario: pathlib.Path, key: str, value: str) -> pathlib.Path:
    """Change a scenario in one line."""
    others = [line for line in scenario.read_text().splitlines() if not line.startswith("controls")]
    others.insert(others.index('name = "small"'), f"{key} = {value}")
    scenario.write_text("\n".join(others))
    return scenario


def test_a_known_defect(package: pathlib.Path) -> None:
    (package / "harness/subject/defects/new_defects.py").write_text(DEFECT)
    code, text = running.run(package, "defects", "in-flight-forgotten")
    assert code == 0, text
    assert "kubernetes#99999" in text
    assert "--as 1.34.2, 1.34.9, 1.35.6, 1.36.2" in " ".join(text.split())
    code, text = running.run(package, "explore", "--defect", "in-flight-forgotten")
    assert code == 10, text
    path = _changed(running.scenario(package), "controls", '["in-flight-forgotten"]')
    code, text = running.run(package, "run", str(path), "--defect", "in-flight-forgotten")
    assert code == 10, text
    report = directories.existing(running.run_directory(package)).report.read_text()
    assert "in-flight-forgotten was switched on" in report
    code, text = running.run(package, "hunt", str(path), "--repeat", "1")
    assert code == 0, text
    assert "1 of 1 positive control" in text
    page = _page(package, "from tools import catalogue_pages; print(catalogue_pages.defects())")
    assert "### `in-flight-forgotten`" in page


def test_a_hazard(package: pathlib.Path) -> None:
    (package / "docs/findings" / f"{NAME}.md").write_text(HAZARD)
    code, text = running.run(package, "defects", "h99")
    assert code == 0, text
    assert "One more way to give a device away twice." in text
    code, text = running.run(package, "explore", "--list")
    assert "(known to fail even without a defect: H99)" in text
    path = _changed(running.scenario(package), "known_to_fail", '"H99"')
    path.write_text(path.read_text().replace("duration_max_s = 30.0", "duration_max_s = 1.0"))
    code, text = running.run(package, "run", str(path))
    assert code == 0, text  # the scheduler of this repository does not fail by it
    report = directories.existing(running.run_directory(package)).report.read_text()
    assert "known to fail without a remedy: H99 (A scheduler that forgets)" in report
    code, text = running.run(package, "hunt", str(path), "--repeat", "1")
    assert code == 20, text
    assert "small (H99)" in text
    page = _page(
        package, "from tools import findings_index; print(*findings_index.pages().values())"
    )
    assert "[H99: A scheduler that forgets]" in page
