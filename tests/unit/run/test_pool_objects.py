"""Objects of files before a run: refused as the API server refuses them, with file and field."""

import pathlib

import pytest

from harness import errors
from harness.run import pool_objects
from harness.scenario import loading
from tests.support import mig_objects

SCENARIO = f"""schema_version = 1
name = "mine"
title = "a title"
[pools]
{mig_objects.POOLS}
{mig_objects.CLAIMS}
[traffic]
profile = "churn"
users = 4
[load]
allocations_min = 1
"""


def require_usable(folder: pathlib.Path, text: str) -> None:
    (folder / "slices.yaml").write_text(text)
    (folder / "mine.toml").write_text(SCENARIO)
    pool_objects.require_usable(loading.load(str(folder / "mine.toml")))


MORE = """---
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: r}
spec: {deviceSelector: {driver: nic.example.com}, taint: {key: k, effect: NoSchedule}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: mig.example.com}}]}}}
"""


@pytest.mark.parametrize("more", ["", MORE])
def test_what_the_server_accepts_is_accepted(more: str, tmp_path: pathlib.Path) -> None:
    require_usable(tmp_path, mig_objects.TEXT + more)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("effect: NoSchedule", "effect: Never", "DeviceTaintRule r: .*spec.taint.effect"),
        ("exactly", "exactli", "ResourceClaimTemplate t: .*requests.0.: Required|unknown field"),
    ],
)
def test_rules_and_templates_are_refused_too(
    old: str, new: str, said: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(errors.ManifestError, match=said):
        require_usable(tmp_path, mig_objects.TEXT + MORE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{name: nic-1}", "{name: Nic_1}", "spec.devices[1].name: Invalid value"),
        ("{name: nic-1}", "{name: nic-1, basic: {}}", 'unknown field "spec.devices[1].basic"'),
        ("allNodes: true", "allNodes: true\n    nodeName: ''", "nodeName"),
        ("counterSet: gpu-0", "counterSet: ''", "consumesCounters[0].counterSet"),
        ("value: 8Gi", "value: 8Gb", "quantities must match"),
        ("version: 1.2.3", "version: 1.x", "version"),
    ],
)
def test_others_are_refused_with_file_item_and_field(
    old: str, new: str, said: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(errors.ManifestError) as caught:
        require_usable(tmp_path, mig_objects.TEXT.replace(old, new))
    text = str(caught.value)
    assert text.startswith(f"{tmp_path}/slices.yaml, document 1, item ")
    assert ": ResourceSlice " in text
    assert said in text
    assert "\n" not in text


def test_secrets_in_parameters_are_not_printed(tmp_path: pathlib.Path) -> None:
    changed = mig_objects.TEXT.replace("parameters: {kind", "parameters: [{password: hunter2, kind")
    changed = changed.replace("interval: 5}}", "interval: 5}}]")
    with pytest.raises(errors.ManifestError) as caught:
        require_usable(tmp_path, changed)
    assert "DeviceClass mig.example.com: " in str(caught.value)
    assert "spec.config[0].opaque.parameters: Invalid value" in str(caught.value)
    assert "hunter2" not in str(caught.value)
