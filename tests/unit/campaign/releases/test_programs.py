"""The releases in a folder of binaries."""

import pathlib

import pytest

from harness import errors
from harness.campaign.releases import programs


def install(folder: pathlib.Path, *names: str, says: str = "") -> None:
    for name in names:
        path = folder / name
        path.write_text(f"#!/bin/sh\necho Kubernetes v{says or name.rpartition('-')[2]}\n")
        path.chmod(0o755)


def found(folder: pathlib.Path, *versions: str) -> list[str]:
    return [item.name for item in programs.found(folder, versions)]


def test_the_oldest_is_the_first(tmp_path: pathlib.Path) -> None:
    install(tmp_path, "kube-scheduler-1.36.10", "kube-scheduler-1.36.9", "etcd-3.6.0")
    install(tmp_path, "kube-controller-manager-1.36.3", "kube-scheduler-old")
    assert found(tmp_path) == [
        "kube-controller-manager 1.36.3",
        "kube-scheduler 1.36.9",
        "kube-scheduler 1.36.10",
    ]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.36", ["kube-scheduler 1.36.1"]),
        ("v1.3.6", ["kube-scheduler 1.3.6"]),
        ("1.36.1", ["kube-scheduler 1.36.1"]),
    ],
)
def test_a_version_chooses(tmp_path: pathlib.Path, version: str, expected: list[str]) -> None:
    install(tmp_path, "kube-scheduler-1.36.1", "kube-scheduler-1.3.6")
    assert found(tmp_path, version) == expected


def test_two_files_of_other_content_have_other_digests(tmp_path: pathlib.Path) -> None:
    install(tmp_path, "kube-scheduler-1.36.1", "kube-scheduler-1.36.2")
    first, second = programs.found(tmp_path)
    assert first.digest != second.digest


@pytest.mark.parametrize(
    "names", [(), ("kube-scheduler",), ("etcd-3.6.0", "kube-apiserver-1.36.3")]
)
def test_a_folder_without_releases_says_what_names_are_expected(
    tmp_path: pathlib.Path, names: tuple[str, ...]
) -> None:
    install(tmp_path, *names, says="1.36.3")
    with pytest.raises(errors.UsageError) as caught:
        programs.found(tmp_path)
    assert "kube-scheduler-VERSION or kube-controller-manager-VERSION" in str(caught.value)
    assert "such as kube-scheduler-1.36.3" in str(caught.value)


def test_a_name_that_is_not_true_is_refused(tmp_path: pathlib.Path) -> None:
    install(tmp_path, "kube-scheduler-1.36.3", says="1.34.2")
    with pytest.raises(errors.UsageError, match=r"it says that it is v1\.34\.2: rename it"):
        programs.found(tmp_path)
