"""Manifests of ten kinds of drivers, as they are published: imported without names, and run."""

import json
import pathlib

import pytest
import yaml

from harness.checks import verdicts
from harness.manifests import workload_kinds
from tests.e2e import running

pytestmark = pytest.mark.e2e
MANIFESTS = sorted((pathlib.Path(__file__).parent / "public_manifests").glob("*.yaml"))
POOL_FILES = ("slices.yaml", "classes.yaml")
SHORT = ("duration_s=2", "processes=1")


def workloads(folder: pathlib.Path) -> list[str]:
    return [
        obj["metadata"]["name"]
        for path in folder.glob("*.yaml")
        if path.name not in POOL_FILES
        for obj in yaml.safe_load_all(path.read_text())
        if obj["kind"] in workload_kinds.TEMPLATES
    ]


def running_pods(directory: pathlib.Path) -> set[str]:
    lines = running.text(directory / "observations.jsonl").splitlines()
    objects = [json.loads(line).get("object") or {} for line in lines]
    return {
        obj["metadata"]["name"]
        for obj in objects
        if obj.get("kind") == "Pod" and (obj.get("status") or {}).get("phase") == "Running"
    }


def test_public_manifests_are_imported_and_every_workload_runs(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "wild"
    files = map(str, MANIFESTS)
    code, output = running.called(tmp_path, "import", *files, "-o", str(folder), "--redact")
    assert code == 0, output
    assert "left out: ComputeDomain of nine.example/v1beta1" in output
    names = workloads(folder)
    assert len(names) >= len(MANIFESTS)
    settings = [word for key in SHORT for word in ("--set", f"traffic.{key}")]
    code, output = running.called(tmp_path, "run", str(folder / "scenario.toml"), *settings)
    assert code == verdicts.Verdict.VALID.exit_code, output
    [plan] = tmp_path.glob("reports/wild/*/plan.json")
    pods = running_pods(plan.parent)
    assert [name for name in names if not any(f"-{name}" in f"{pod}-" for pod in pods)] == []
