"""CDI devices by their ids: in which files they are, in which order, and what is wrong with one."""

import json
import pathlib
from typing import Any

import pytest

from harness.cluster.dra import cdi_devices, claim_infos
from harness.cluster.kubelet_api import preparations


def write(folder: pathlib.Path, name: str, *devices: str, **more: Any) -> pathlib.Path:
    """Write a file whose devices say who they are; `more` are keys of the whole file."""
    entries = [
        {"name": one, "containerEdits": {"env": [f"{one}=yes", "who=" + one]}} for one in devices
    ]
    path = folder / name
    path.write_text(json.dumps({"cdiVersion": "0.3.0", "kind": "v/c", "devices": entries} | more))
    return path


@pytest.fixture
def cdi(tmp_path: pathlib.Path) -> cdi_devices.CdiFolder:
    return cdi_devices.CdiFolder(tmp_path)


def test_each_device_edits_the_container_and_each_file_once(
    tmp_path: pathlib.Path, cdi: cdi_devices.CdiFolder
) -> None:
    write(tmp_path, "a.json", "x", "y", containerEdits={"env": ["who=file", "url=a=b"]})
    write(tmp_path, "b.json", "z")
    (tmp_path / "c.yaml").write_text(
        "kind: v/d\ndevices: [{name: w, containerEdits: {env: [w=1]}}]"
    )
    found = cdi.environment(["v/c=y", "v/c=x", "v/c=y", "v/d=w"])
    assert found == {"who": "x", "url": "a=b", "x": "yes", "y": "yes", "w": "1"}
    assert cdi.environment([]) == {}


def test_a_file_that_changes_is_read_again(
    tmp_path: pathlib.Path, cdi: cdi_devices.CdiFolder
) -> None:
    path = write(tmp_path, "a.json", "x")
    assert cdi.environment(["v/c=x"])["who"] == "x"
    path.unlink()
    with pytest.raises(preparations.PreparationError, match=f"no file in {tmp_path} has it"):
        cdi.environment(["v/c=x"])
    write(tmp_path, "b.json", "x")
    assert cdi.environment(["v/c=x"])["who"] == "x"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", "{", r"unresolvable CDI device v/c=x: .*a\.json: expected a CDI file"),
        ("a.yaml", "a: [", r"a\.yaml: expected a CDI file"),
        ("a.json", '{"kind": "v/c", "devices": [{"name": 1}]}', r"a\.json: expected a CDI file"),
        ("a.json", '{"kind": "v/other", "devices": [{"name": "x"}]}', "no file in .* has it"),
        (".a.json", '{"kind": "v/c", "devices": [{"name": "x"}]}', "no file in .* has it"),
        ("a.txt", '{"kind": "v/c", "devices": [{"name": "x"}]}', "no file in .* has it"),
    ],
)
def test_a_device_that_is_not_found_says_why(
    tmp_path: pathlib.Path, cdi: cdi_devices.CdiFolder, name: str, content: str, words: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(preparations.PreparationError, match=words) as caught:
        cdi.environment(["v/c=x"])
    assert caught.value.reason == "CreateContainerError"


def test_a_device_in_two_files_is_refused(
    tmp_path: pathlib.Path, cdi: cdi_devices.CdiFolder
) -> None:
    paths = [write(tmp_path, name, "x", "y") for name in ("a.json", "b.json")]
    with pytest.raises(preparations.PreparationError) as caught:
        cdi.environment(["v/c=x"])
    assert str(caught.value) == f"CDI device v/c=x is in {paths[0]} and {paths[1]}"


def test_a_folder_that_is_not_there_has_no_devices(tmp_path: pathlib.Path) -> None:
    cdi = cdi_devices.CdiFolder(tmp_path / "missing")
    assert cdi.environment([]) == {}
    with pytest.raises(preparations.PreparationError, match="no file in"):
        cdi.environment(["v/c=x"])


def test_a_device_that_is_noted_twice_is_refused() -> None:
    """As kubelets noted it after a preparation of several claims had failed: kubernetes#140274."""
    device = preparations.PreparedDevice(pool="p", device="d", cdi_device_ids=("v/c=x",))
    info = claim_infos.ClaimInfo(namespace="ns", name="c", uid="u", devices=["v/p/d"])
    info.prepared["v"] = (device,)
    cdi_devices.require_distinct(info)
    info.prepared["v"] = (device, device)
    with pytest.raises(
        preparations.PreparationError, match="device v/p/d of claim c is there twice"
    ):
        cdi_devices.require_distinct(info)
