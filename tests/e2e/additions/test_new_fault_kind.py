"""A new fault kind is one file and one line, and works in run, hunt, report and pages."""

import pathlib
import shutil
import subprocess
import sys

import pytest

from harness.history import plans
from tests.e2e import running

ROOT = pathlib.Path(__file__).parents[3]
KINDS = ROOT / "harness" / "scenario" / "fault_kinds"
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
FAULTS = {
    "slow-binding": (OF_TRAFFIC, 'times = 5\non = { resource = "pods", subresource = "binding" }'),
    "cordon-node": (OF_CLIENT, ""),
}
MEANINGS = {"slow-binding": "Delay in seconds.", "cordon-node": "Time until it is uncordoned."}
SENTENCES = {
    "slow-binding": "Each (at most 5) call of pods/binding of scheduler is slow by 0.2 s.",
    "cordon-node": "Another client cordons a node for 0.2 s.",
}


@pytest.fixture(params=FAULTS)
def kind(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> str:
    """Make a copy of the harness with a new kind: a file, and a line in a list."""
    for name in ("harness", "scenarios", "clusters", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    kinds = tmp_path / KINDS.relative_to(ROOT)
    code, keys = FAULTS[request.param]
    (kinds / "added.py").write_text(code)
    text = (kinds / "__init__.py").read_text()
    last = '    "nemeses",\n'
    assert text.count(last) == 1
    (kinds / "__init__.py").write_text(text.replace(last, f'    "added",\n{last}'))
    scenario = f'{running.SMALL_SCENARIO}[[faults]]\nkind = "{request.param}"\nseconds = 0.2\n'
    (tmp_path / "small.toml").write_text(f"{scenario}{keys}\n")
    return str(request.param)


def python(folder: pathlib.Path, *arguments: str) -> str:
    """Run the interpreter on the copy and return its output."""
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PYTHONPATH": f"{folder}:{folder / 'tools'}", "PATH": "", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=running.TIMEOUT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_a_new_kind_works_everywhere(kind: str, tmp_path: pathlib.Path) -> None:
    flake_hunt = ("-m", "harness.cli.main")
    output = python(tmp_path, *flake_hunt, "run", "small.toml", "--seed", "1")
    assert "\nVALID small" in output
    [run] = (path for path in (tmp_path / "reports" / "small").iterdir() if not path.is_symlink())
    [planned] = plans.read(run / "plan.json").faults
    assert (planned.kind, planned.text) == (kind, SENTENCES[kind])
    assert SENTENCES[kind] in (run / "report.html").read_text()
    hunted = python(
        tmp_path, *flake_hunt, "hunt", "small.toml", "--repeat", "1", "--repeat-controls", "0"
    )
    assert "small" in hunted
    page = python(tmp_path, "-c", "import catalogue_pages; print(catalogue_pages.fault_kinds())")
    assert f"| `{kind}` |" in page
    keys = python(tmp_path, "-c", "import reference_pages; print(reference_pages.scenario_keys())")
    assert MEANINGS[kind] in keys
