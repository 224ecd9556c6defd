"""The kubeconfig of each client of a run: what it keeps, what it adds, and what it refuses."""

import pathlib
from typing import Any

import pytest

from harness import errors
from harness.client import kubeconfig_files, kubeconfigs
from tests.support import written_kubeconfigs

HEADERS = (("Impersonate-User", "flake-hunt:scheduler"),)


def written(folder: pathlib.Path, **settings: Any) -> pathlib.Path:
    return written_kubeconfigs.write(folder / "kubeconfig", "https://127.0.0.1:1", **settings)


def test_a_client_has_the_credentials_and_a_name(tmp_path: pathlib.Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"authority")
    source = written(tmp_path, user={"token": "t"}, **{"certificate-authority": "ca.crt"})
    path = kubeconfig_files.write_for_client(source, client="scheduler")
    assert path == tmp_path / "kubeconfig-scheduler"
    assert path.stat().st_mode & 0o777 == 0o600
    before, after = kubeconfigs.load(source), kubeconfigs.load(path)
    assert (after.host, after.port, after.identity.token) == (before.host, before.port, "t")
    assert (after.authority, after.impersonation) == (b"authority", HEADERS)
    assert before.impersonation == ()


def test_a_cluster_without_a_user_has_one_then(tmp_path: pathlib.Path) -> None:
    path = kubeconfig_files.write_for_client(written(tmp_path, user=None), client="scheduler")
    assert kubeconfigs.load(path).impersonation == HEADERS


def test_another_impersonation_is_refused(tmp_path: pathlib.Path) -> None:
    source = written(tmp_path, user={"token": "t", "as": "jane"})
    with pytest.raises(errors.KubeconfigError, match="the client 'recorder', got `as: jane`"):
        kubeconfig_files.write_for_client(source, client="recorder")
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]
