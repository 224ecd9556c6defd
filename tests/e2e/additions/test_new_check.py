"""A new check is one file, and a line that names it: in a copy of the package, and in a plug-in."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from harness.history import directories
from tests.e2e import running

pytestmark = pytest.mark.e2e
ROOT = pathlib.Path(__file__).parents[3]
CHECK = '''"""The check of names: no claim is called like another one."""

from harness.checks import protocol
from harness.checks.observed import folders, observations
from harness.extensions import contracts


class Names(folders.Folder):
    """The uids of the claims of each name."""

    def __init__(self) -> None:
        self.uids = {}

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note the name of a claim."""
        self.uids.setdefault(seen.object.metadata.name, set()).add(seen.object.metadata.uid)


def _judge(evidence: protocol.Evidence) -> contracts.CheckAnswer:
    uids = evidence[Names].uids
    return contracts.CheckAnswer(
        examined=len(uids),
        violations=[
            contracts.Violation(summary=f"claim {name} is there again")
            for name, found in uids.items()
            if len(found) > MOST
        ],
    )


MOST = 1
CHECK = protocol.Check(
    name="claim_names",
    guarantee="R",
    promise="no claim is called like another one",
    needs=(Names,),
    judge=_judge,
)
'''
LINE = '    "claims.claim_names",\n'
PLUGIN = """
[project]
name = "acme"
version = "1.2.0"

[project.entry-points."flake_hunt.checks"]
claim_names = "acme:CHECK"
"""


@pytest.fixture
def package(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with a copy of the package that has one check more."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("harness", "scenarios", "clusters"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    (tmp_path / "harness/checks/claims/claim_names.py").write_text(CHECK)
    registry = tmp_path / "harness/checks/check_registry.py"
    text = registry.read_text()
    last = '    "claims.claims_in_use",\n'
    registry.write_text(text.replace(last, last + LINE))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def plugin(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder with the same check as a plug-in."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/acme.py").write_text(CHECK)
    (tmp_path / "mine/pyproject.toml").write_text(PLUGIN)
    monkeypatch.setenv("FLAKE_HUNT_PLUGINS", str(tmp_path / "mine"))
    return tmp_path


def _result(directory: pathlib.Path) -> str:
    checks = json.loads((directory / "verdict.json").read_text())["checks"]
    (found,) = [item for item in checks if item["check"] == "claim_names"]
    assert found["promise"] == "no claim is called like another one"
    assert found["examined_count"] > 10
    return str(found["verdict"])


def _shown(folder: pathlib.Path) -> None:
    """A run, a hunt and their reports show the check."""
    path = running.scenario(folder)
    code, text = running.run(folder, "run", str(path), "--seed", "7")
    assert code == 0, text
    directory = running.run_directory(folder)
    assert _result(directory) == "VALID"
    assert (
        "no claim is called like another one" in directories.existing(directory).report.read_text()
    )
    shutil.rmtree(folder / "reports")
    code, text = running.run(folder, "hunt", str(path), "--repeat", "1", "--repeat-controls", "0")
    assert code == 0, text
    assert _result(running.run_directory(folder)) == "VALID"


def _finds(folder: pathlib.Path, source: pathlib.Path) -> None:
    """The same check with a stricter promise makes the run INVALID when it is judged again."""
    source.write_text(source.read_text().replace("MOST = 1", "MOST = 0"))
    code, text = running.run(folder, "check", str(running.run_directory(folder)))
    assert code == 10, text
    assert "claim_names" in text


def test_one_of_ours(package: pathlib.Path) -> None:
    _shown(package)
    _finds(package, package / "harness/checks/claims/claim_names.py")
    script = "from tools import catalogue_pages; print(catalogue_pages.checks())"
    shutil.copytree(ROOT / "tools", package / "tools")
    page = subprocess.run(
        [sys.executable, "-c", script], cwd=package, capture_output=True, text=True, check=True
    )
    assert "| `claim_names` | R | no claim is called like another one |" in page.stdout


def test_one_of_another_package(plugin: pathlib.Path) -> None:
    _shown(plugin)
    _finds(plugin, plugin / "mine/acme.py")
