"""A new check, fault kind, known defect or hazard is one file, and at most a line that names it.

All of them are added to one copy of the package.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from harness.history import directories, plans
from tests.e2e import running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]
ROOT = pathlib.Path(__file__).parents[2]
PATCH = pathlib.Path(__file__).with_suffix(".patch")
"""Adds a check, a defect, a hazard, and a fault of calls and one of a client, and uses them."""
MEANINGS = {"slow-binding": "Delay in seconds.", "cordon-node": "Time until it is uncordoned."}
SENTENCES = {
    "slow-binding": "Each (at most 5) call of pods/binding of scheduler is slow by 0.2 s.",
    "cordon-node": "Another client cordons a node for 0.2 s.",
}
PROMISE = "no claim is called like another one"
PAGES = """
import catalogue_pages, findings_index, reference_pages
print(catalogue_pages.checks(), catalogue_pages.defects(), catalogue_pages.fault_kinds())
print(reference_pages.scenario_keys(), *findings_index.pages().values())
"""


@pytest.fixture
def package(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with a copy of the package, in which there is one more of each.

    Bytecode is copied, too: compiling it again takes seconds.
    """
    for name in ("harness", "scenarios", "clusters", "docs/findings", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    subprocess.run(["git", "apply", PATCH], cwd=tmp_path, check=True)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{tmp_path / 'tools'}")
    return tmp_path


def printed(folder: pathlib.Path, *arguments: str, code: int = 0) -> str:
    found, text = running.run(folder, *arguments)
    assert found == code, text
    return text


def is_shown(directory: pathlib.Path) -> bool:
    """True if the new check holds in a run; its report shows it."""
    checks = json.loads((directory / "verdict.json").read_text())["checks"]
    (found,) = [item for item in checks if item["check"] == "claim_names"]
    assert found["promise"] == PROMISE
    assert found["examined_count"] > 10
    assert PROMISE in directories.existing(directory).report.read_text()
    return bool(found["verdict"] == "VALID")


def test_a_copy_of_the_package(package: pathlib.Path) -> None:
    printed(package, "run", "small.toml", "--seed", "7")
    run = running.run_directory(package)
    assert is_shown(run)
    assert {fault.kind: fault.text for fault in plans.read(run / "plan.json").faults} == SENTENCES
    report = directories.existing(run).report.read_text()
    for shown in (
        *SENTENCES.values(),
        "known to fail without a remedy: H99 (A scheduler that forgets)",
    ):
        assert shown in report
    require_catalogued(package)
    require_hunted(package)
    source = package / "harness/checks/claims/claim_names.py"
    source.write_text(source.read_text().replace("MOST = 1", "MOST = 0"))
    assert "claim_names" in printed(package, "check", str(run), code=10), "the promise is stricter"


def require_catalogued(package: pathlib.Path) -> None:
    text = printed(package, "defects", "in-flight-forgotten")
    assert "kubernetes#99999" in text
    assert "--as 1.34.2" in " ".join(text.split())
    assert "One more way to give a device away twice." in printed(package, "defects", "h99")
    listed = printed(package, "scenarios", "worlds")
    assert "(known to fail even without a defect: H99)" in listed
    pages = subprocess.run(
        [sys.executable, "-c", PAGES], cwd=package, capture_output=True, text=True, check=True
    ).stdout
    assert f"| `claim_names` | R | {PROMISE} |" in pages
    assert "### `in-flight-forgotten`" in pages
    assert "[H99: A scheduler that forgets]" in pages
    for kind, meaning in MEANINGS.items():
        assert f"| `{kind}` |" in pages
        assert meaning in pages


def require_hunted(package: pathlib.Path) -> None:
    """The defect is found, by exploration, in a run and in a hunt; the hazard is missed."""
    printed(package, "explore", "--defect", "in-flight-forgotten", code=10)
    hunted = ("--repeat", "1", "--reports", "hunted")
    text = printed(package, "hunt", "small.toml", *hunted, code=20)
    assert "small (H99)" in text  # the scheduler of this repository does not fail by it
    assert "1 of 1 controls caught" in text
    found = {
        plans.read(path).defects[0]: path.parent
        for path in package.glob("hunted/small/*/plan.json")
        if plans.read(path).defects
    }
    report = directories.existing(found["in-flight-forgotten"]).report.read_text()
    assert "in-flight-forgotten was switched on" in report
