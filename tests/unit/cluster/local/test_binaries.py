"""The binaries of one folder: as envtest calls them, and with a version in their names."""

import pathlib

import pytest

from harness import errors
from harness.cluster.local import binaries


def made(folder: pathlib.Path, *names: str, mode: int = 0o755) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(mode)


@pytest.mark.parametrize(
    ("there", "version", "found"),
    [
        (["kube-scheduler"], "", "kube-scheduler"),
        (["kube-scheduler-1.9.9", "kube-scheduler-1.36.2"], "", "kube-scheduler-1.36.2"),
        (["kube-scheduler-1.36.10", "kube-scheduler-1.36.9"], "", "kube-scheduler-1.36.10"),
        (["kube-scheduler", "kube-scheduler-1.36.2"], "", "kube-scheduler"),
        (["kube-scheduler", "kube-scheduler-1.34.2"], "1.34.2", "kube-scheduler-1.34.2"),
        (["kube-scheduler-1.34.2", "kube-scheduler-1.36.2"], "v1.34.2", "kube-scheduler-1.34.2"),
        (["kube-scheduler-v1.34.2", "kube-scheduler-v1.36.2"], "1.34", "kube-scheduler-v1.34.2"),
        (["kube-scheduler-1.34.2", "kube-scheduler-1.34.9"], "1.34", "kube-scheduler-1.34.9"),
        (["kube-scheduler-1.36.2", "kube-scheduler-1.36.2.old"], "", "kube-scheduler-1.36.2"),
    ],
)
def test_the_newest_of_those_that_are_asked_for(
    tmp_path: pathlib.Path, there: list[str], version: str, found: str
) -> None:
    made(tmp_path, *there)
    assert binaries.find("kube-scheduler", str(tmp_path), version=version) == tmp_path / found


@pytest.mark.parametrize("version", ["1.3", "1.36.4", "1.35", "2.36.2"])
def test_a_version_that_is_not_there_comes_with_those_that_are(
    tmp_path: pathlib.Path, version: str
) -> None:
    made(tmp_path, "kube-scheduler", "kube-scheduler-1.36.2", "kube-scheduler-1.34.2")
    with pytest.raises(errors.UsageError) as caught:
        binaries.find("kube-scheduler", str(tmp_path), version=version)
    assert f"expected the binary kube-scheduler-{version} in {tmp_path}, but found " in str(
        caught.value
    )
    assert "kube-scheduler-1.34.2, kube-scheduler-1.36.2: get" in str(caught.value)


def test_the_folder_of_many_versions_comes_before_that_of_envtest(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets, many = tmp_path / "assets", tmp_path / "many"
    assets.mkdir()
    many.mkdir()
    made(assets, "kube-apiserver", "etcd")
    made(many, "kube-apiserver-1.36.2")
    monkeypatch.setenv(binaries.ASSETS_VARIABLE, str(assets))
    monkeypatch.setenv(binaries.BINARIES_VARIABLE, str(many))
    assert binaries.find("kube-apiserver") == many / "kube-apiserver-1.36.2"
    assert binaries.find("etcd") == assets / "etcd"
    with pytest.raises(errors.UsageError, match="KUBE_BINARIES"):
        binaries.find("kube-scheduler")


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("etcd", "etcd"),
        ("kube-scheduler", "kube-scheduler"),
        ("kube-scheduler-1.36.2", "kube-scheduler"),
        ("kube-controller-manager-v1.36.2", "kube-controller-manager"),
        ("kube-scheduler-race", "kube-scheduler-race"),
    ],
)
def test_the_program_that_a_file_is(name: str, plain: str) -> None:
    assert binaries.plain_name(pathlib.Path("/b", name)) == plain
