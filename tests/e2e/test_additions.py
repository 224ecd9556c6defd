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
CHECK = '''"""The check of names: no claim is called like another one."""

import collections

from harness.checks import protocol
from harness.checks.observed import claim_versions
from harness.extensions import contracts

MOST = 1


def _judge(evidence: protocol.Evidence) -> contracts.CheckAnswer:
    claims = {seen.claim.uid: seen.claim.name for seen in evidence[claim_versions.ClaimVersions]}
    names = collections.Counter(claims.values())
    twice = [f"claim {name} is there again" for name, count in names.items() if count > MOST]
    found = [contracts.Violation(summary=text) for text in twice]
    return contracts.CheckAnswer(examined=len(names), violations=found)


CHECK = protocol.Check(
    name="claim_names",
    guarantee="R",
    promise="no claim is called like another one",
    needs=(claim_versions.ClaimVersions,),
    judge=_judge,
)
'''
DEFECT = '''"""Known defects of a new kind."""

from typing import Any

from harness.extensions import replacements
from harness.subject.tracking import gathering


@replacements.known_as("in-flight-forgotten")
class ForgottenGatherer(gathering.Gatherer):
    def _add_in_flight(self, in_use: Any) -> None:
        pass
'''
ROW = """
[in-flight-forgotten]
releases = "up to 1.36.2"
issues = ["kubernetes#99999"]
worlds = ["two-claims-one-device"]
text = "The devices of claims whose allocation is not written yet count as free."
"""
NAME = "H99-forgets"
HAZARD = """---
id: H99
title: A scheduler that forgets
severity: high
needs: none
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
OF_TRAFFIC = '''"""Bindings that are late."""

from typing import Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class SlowBinding(traffic_fault.TrafficFault):
    """A binding reaches the API server late."""

    kind: Literal["slow-binding"]
    seconds: fault.Delay
    """Delay in seconds."""

    at = "request"
    only_verbs = ("create",)
    acts = injection.Delay
    does = "is slow by {seconds:g} s"
    effect = fault.Effect.LATE_WRITE


KINDS = (SlowBinding,)
'''
OF_CLIENT = '''"""Nodes that take no new pods for a while."""

from collections.abc import Iterator
from typing import Literal

from harness.extensions import contracts
from harness.scenario.fault_kinds import client_fault, fault


class CordonNode(client_fault.ClientFault):
    """Another client cordons the first node."""

    kind: Literal["cordon-node"]
    seconds: fault.Delay
    """Time until it is uncordoned."""

    says = "another client cordons a node for {seconds:g} s"

    def objections(self, run: fault.Run) -> Iterator[str]:
        """Yield why no node is left."""
        if run.pools.nodes < 2:
            yield "expected a second node: add one"

    def inject(self, target: contracts.FaultTarget) -> None:
        """Cordon the node, wait, and uncordon it."""
        node = target.request("GET", "/api/v1/nodes")["items"][0]["metadata"]["name"]
        path = f"/api/v1/nodes/{node}"
        target.request("PATCH", path, {"spec": {"unschedulable": True}})
        target.applied("cordoned", kind="nodes", name=node)
        target.wait(self.seconds)
        target.request("PATCH", path, {"spec": {"unschedulable": False}})


KINDS = (CordonNode,)
'''
FILES = {
    "harness/checks/claims/claim_names.py": CHECK,
    "harness/scenario/fault_kinds/slow_bindings.py": OF_TRAFFIC,
    "harness/scenario/fault_kinds/cordoned_nodes.py": OF_CLIENT,
    "harness/subject/defects/new_defects.py": DEFECT,
    f"docs/findings/{NAME}.md": HAZARD,
}
LINES = {
    "harness/checks/check_registry.py": (
        '    "claims.reservations.CLAIMS_IN_USE",\n',
        '    "claims.claim_names.CHECK",\n',
    ),
    "harness/scenario/fault_kinds/__init__.py": (
        '    "stopped_processes",\n',
        '    "slow_bindings",\n    "cordoned_nodes",\n',
    ),
    "harness/subject/defects/defects.toml": (
        "In 1.36 the first plan stays (kubernetes#137897, which is about pods that share a claim).\n'''\n",
        ROW,
    ),
    "harness/subject/releases/releases.toml": (
        '    "gather-not-atomic",\n',
        '    "in-flight-forgotten",\n',
    ),
}
"""File -> a line of it, and those that are added after that one."""
SCENARIO = (
    running.SMALL_SCENARIO.replace("gather-not-atomic", "in-flight-forgotten")
    .replace("duration_max_s = 30.0", "duration_max_s = 1.0")
    .replace("[pools]", 'known_to_fail = "H99"\n[pools]', 1)
    + """
[[faults]]
kind = "slow-binding"
seconds = 0.2
times = 5
on = { resource = "pods", subresource = "binding" }
[[faults]]
kind = "cordon-node"
seconds = 0.2
"""
)
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
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name, (line, added) in LINES.items():
        text = (tmp_path / name).read_text()
        assert text.count(line) == 1
        (tmp_path / name).write_text(text.replace(line, line + added))
    (tmp_path / "small.toml").write_text(SCENARIO)
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
