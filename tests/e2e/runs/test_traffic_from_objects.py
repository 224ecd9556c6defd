"""Users create what manifests say: a Job whose pods share a claim and have one of their own."""

import json
import pathlib

import pytest

from tests.e2e import running

pytestmark = pytest.mark.e2e
SCENARIO = """
schema_version = 1
name = "small"
title = "Jobs of two pods that share a claim, each with one of its own and an extended resource"
[pools]
nodes = 2
devices_per_node = 5
device_class = { extended_resource = "vendor.example/gpu" }
[traffic]
profile = "objects"
objects = ["job.yaml"]
users = 12
duration_s = 1
duration_max_s = 40
wait_s = 10
[subject]
start = "before-traffic"
backoff_initial_s = 0.02
backoff_max_s = 0.1
pauses = { probability = 0.05, pause_s_max = 0.010 }
[load]
allocations_min = 40
pods_running_min = 20
reuse_min = 10
examined = ["extended_claims", "prepared_containers"]
[limits]
progress_s = 20
"""
JOB = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: flake-hunt}}]}}
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: own}
spec: {spec: {devices: {requests: [{name: gpu, deviceClassName: flake-hunt}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completions: 2
  parallelism: 2
  template:
    spec:
      restartPolicy: OnFailure
      initContainers:
      - {name: first, image: i, resources: {claims: [{name: own, request: gpu}]}}
      - {name: beside, image: i, restartPolicy: Always, resources: {claims: [{name: shared}]}}
      containers:
      - name: work
        image: i
        resources: {claims: [{name: shared}, {name: own}], limits: {vendor.example/gpu: 1}}
      resourceClaims:
      - {name: shared, resourceClaimName: shared}
      - {name: own, resourceClaimTemplateName: own}
"""


def test_jobs_of_a_manifest_are_valid_and_a_known_defect_is_caught(tmp_path: pathlib.Path) -> None:
    """And the run is judged again when the manifest is gone."""
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "job.yaml").write_text(JOB)
    code, text = running.called(tmp_path, "run", "small.toml")
    assert code == 0, text
    directory = running.run_directory(tmp_path)
    started = running.text(directory / "preparations-kubelet.jsonl").splitlines()
    names = {json.loads(line).get("container") for line in started}
    assert names >= {"first", "beside", "work"}

    defect = ["--defect", "gather-not-atomic", "--until-found", "--reports", "found"]
    code, text = running.called(tmp_path, "run", "small.toml", *defect)
    assert code == 10, text
    assert "device_exclusivity" in text
    (tmp_path / "job.yaml").unlink()
    code, text = running.called(tmp_path, "check", str(directory))
    assert code == 0, text
