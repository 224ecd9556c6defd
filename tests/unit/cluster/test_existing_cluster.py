"""A cluster that exists: what is asked before it is used, and that looking changes nothing."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from harness import errors
from harness.client import apis
from harness.cluster import embedded_cluster, existing_cluster, interfaces, providers
from harness.scenario import profiles
from tests.support import answering_servers


@pytest.fixture
def kubeconfig(cluster: embedded_cluster.EmbeddedCluster, tmp_path: pathlib.Path) -> pathlib.Path:
    """A kubeconfig with a second context, over TLS."""
    document = json.loads(cluster.user_kubeconfig.read_text())
    (context,) = document["contexts"]
    document["contexts"].append({**context, "name": "other"})
    path = tmp_path / "config"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def marked(api: apis.Api) -> Iterator[None]:
    annotate(api, "true")
    yield
    annotate(api, None)


def annotate(api: apis.Api, value: str | None) -> None:
    api.patch(
        apis.NAMESPACES, "default", {"metadata": {"annotations": {existing_cluster.MARK: value}}}
    )


def provider(path: pathlib.Path | str, **changes: object) -> interfaces.Provider:
    overrides = [f"kubeconfig={json.dumps(str(path))}"]
    overrides += [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    return providers.of(profiles.load("kubeconfig", overrides=overrides))


def up(path: pathlib.Path, folder: pathlib.Path, **changes: object) -> interfaces.Cluster:
    folder.mkdir()
    return provider(path, **changes).up(interfaces.ClusterRequest(name="mine", directory=folder))


def change(path: pathlib.Path, section: str, **changes: Any) -> None:
    document = json.loads(path.read_text())
    document[f"{section}s"][0][section] = {**document[f"{section}s"][0][section], **changes}
    path.write_text(json.dumps(document))


# ------------------------------------------------------------------------------ being let in


@pytest.mark.usefixtures("marked")
def test_a_marked_cluster_is_handed_out_and_stays(
    kubeconfig: pathlib.Path, tmp_path: pathlib.Path, api: apis.Api
) -> None:
    cluster = up(kubeconfig, tmp_path / "mine", context="other")
    assert cluster.exit_report() is None
    assert cluster.pids == ()
    assert cluster.versions["kubernetes"].startswith("v1.")
    copy = json.loads(cluster.kubeconfig.read_text())
    assert copy["current-context"] == "other"
    assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600
    cluster.down()
    assert not cluster.kubeconfig.exists()
    assert kubeconfig.exists()
    assert api.get(apis.NAMESPACES, "default")["kind"] == "Namespace"
    cluster.down()


@pytest.mark.parametrize("mark", [None, "false", ""])
def test_an_unmarked_cluster_is_refused_and_untouched(
    kubeconfig: pathlib.Path, tmp_path: pathlib.Path, api: apis.Api, mark: str | None
) -> None:
    annotate(api, mark)
    before = api.list(apis.NAMESPACES)
    with pytest.raises(errors.UsageError) as caught:
        provider(kubeconfig).check()
    assert "annotate namespace default flake-hunt/test-cluster=true" in str(caught.value)
    assert "i_know_this_cluster=true" in str(caught.value)
    with pytest.raises(errors.UsageError):
        up(kubeconfig, tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == []
    assert api.list(apis.NAMESPACES) == before
    annotate(api, None)


def test_whoever_knows_the_cluster_may(kubeconfig: pathlib.Path) -> None:
    provider(kubeconfig, i_know_this_cluster=True).check()


@pytest.mark.usefixtures("marked")
def test_the_environment_names_the_kubeconfig(
    kubeconfig: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    provider("").check()


# ------------------------------------------------------------------------------ being refused


def test_a_server_that_cannot_be_reached(kubeconfig: pathlib.Path) -> None:
    change(kubeconfig, "cluster", server="https://127.0.0.1:1")
    with pytest.raises(errors.ClusterError, match=r"127.0.0.1:1, but: .*Is the cluster up"):
        provider(kubeconfig).check()


def test_credentials_that_have_expired(kubeconfig: pathlib.Path) -> None:
    change(kubeconfig, "user", token="old")
    with pytest.raises(errors.ClusterError, match=r"got 401 .*that have not expired"):
        provider(kubeconfig).check()


Answers = dict[str, answering_servers.Answer]
FORBIDDEN = {
    "kind": "Status",
    "code": 403,
    "reason": "Forbidden",
    "message": 'namespaces "default" is forbidden: User "jane" cannot get resource "namespaces"',
}


ALLOWED: Answers = {"/apis/resource.k8s.io/v1": (200, {})}


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, r"GET /apis/resource.k8s.io/v1, got 404 .*use Kubernetes 1.34"),
        (ALLOWED | {"/api/v1/namespaces/default": (403, FORBIDDEN)}, r"got 403 .*jane"),
    ],
    ids=["too-old", "forbidden"],
)
def test_a_server_that_cannot_be_used(tmp_path: pathlib.Path, answers: Answers, words: str) -> None:
    known = answers | {"/version": (200, {"gitVersion": "v1.30.1"})}
    with (
        answering_servers.serving(tmp_path / "k", lambda at: known.get(at, (404, {}))) as path,
        pytest.raises(errors.ClusterError, match=words),
    ):
        provider(path).check()
