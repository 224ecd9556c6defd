"""The rights that the manifest of our driver grants are those that the driver uses."""

import json
import pathlib
from collections.abc import Iterator

import pytest
import yaml

from harness import clocks
from harness.client import apis
from tests.support import api_servers
from tests.unit.cluster.driver import driving

pytestmark = pytest.mark.e2e

MANIFEST = pathlib.Path(__file__).parents[4] / "examples" / "driver-daemonset.yaml"
Right = tuple[str, str, str]
"""Group, resource, verb."""


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder with the kubeconfig and the audit log of an API server that runs."""
    process = api_servers.start(tmp_path, "--set", f"audit_log={tmp_path / 'audit.log'}")
    yield tmp_path
    process.kill()


def granted() -> set[Right]:
    (role,) = (
        document
        for document in yaml.safe_load_all(MANIFEST.read_text())
        if document["kind"] == "ClusterRole"
    )
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(log: pathlib.Path) -> set[Right]:
    found = set()
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["userAgent"].startswith(driving.NAME) and "objectRef" in event:
            target = event["objectRef"]
            assert "subresource" not in target
            found.add((target.get("apiGroup", ""), target["resource"], event["verb"]))
    return found


def slices(api: apis.Api) -> dict[str, int]:
    return {
        item["metadata"]["name"]: len(item["spec"]["devices"])
        for item in api.list(apis.SLICES).items
    }


def wait_for_slice(api: apis.Api) -> str:
    """Wait for the only slice; return its name."""
    clocks.wait_until(
        lambda: [*slices(api).values()] == [2], timeout_s=driving.TIMEOUT_S, why="a slice"
    )
    return min(slices(api))


def test_it_uses_each_right_and_no_other(server: pathlib.Path) -> None:
    kubeconfig = server / "kubeconfig"
    with apis.connected(kubeconfig) as api, driving.driver(kubeconfig) as driver:
        api.create(apis.NODES, {"metadata": {"name": driving.NODE}})
        claim = driving.claim(api, "claim")
        driver.start("--devices", "2", instance="a")
        driver.prepare(claim, instance="a")
        api.delete(apis.SLICES, wait_for_slice(api))  # as a kubelet that starts
        wait_for_slice(api)
        driver.start("--devices", "2", instance="b")
        driver.stop("a")
        driver.unprepare(claim, instance="b")
        driver.stop("b")
        driver.start("--devices", "200")  # one slice is changed, and one is new
        driver.stop()
        assert slices(api) == {}
    assert used(server / "audit.log") == granted()
