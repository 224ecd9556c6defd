"""Kubeconfigs: what is read, and what is said about one that cannot be used."""

import base64
import json
import operator
import pathlib
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.apiserver.server import identities
from harness.client import kubeconfig_files, kubeconfigs
from tests.support import cases

Document = dict[str, Any]


def document(cluster: Document | None = None, user: Document | None = None) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": "https://10.0.0.1:6443"} | (cluster or {})}
        ],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "c2", "user": "u"}},
        ],
        "current-context": "one",
    }


@pytest.fixture
def write(tmp_path: pathlib.Path) -> Callable[[Any], pathlib.Path]:
    def write_one(content: Any) -> pathlib.Path:
        path = tmp_path / "kubeconfig"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write_one


@pytest.fixture(scope="module")
def identity() -> identities.ServingCertificate:
    return identities.make_certificate("127.0.0.1")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def several(first: Document, *more: Document) -> str:
    return "".join(f"---\n{json.dumps(item)}\n" for item in (first, *more))


YAML = """
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: b, user: c}}]
clusters: [{name: b, cluster: {server: "http://localhost:1"}}]
users: [{name: c, user: {token: t}}]
"""
READ: list[tuple[Any, Document]] = [
    *((document(cluster, user), told) for cluster, user, told in cases.read(__file__, "read")),
    (YAML, {"host": "localhost", "port": 1, "identity.token": "t"}),
    (  # as kubectl does, the first counts
        several(document({"server": "http://first:1"}), document({"server": "http://second:1"})),
        {"host": "first"},
    ),
]


@pytest.mark.parametrize(("content", "expected"), READ)
def test_what_is_read(write: Any, tmp_path: pathlib.Path, content: Any, expected: Document) -> None:
    (tmp_path / "token").write_text("from-file\n")
    found = kubeconfigs.load(write(content))
    assert {name: operator.attrgetter(name)(found) for name in expected} == expected
    context = found.context()
    assert (context is not None) is found.tls
    if context is not None:  # authorities that Go accepts, and that Python 3.13 would refuse
        assert not context.verify_flags & ssl.VERIFY_X509_STRICT


def test_a_kubeconfig_without_a_current_context_is_told(write: Any) -> None:
    content = document()
    del content["current-context"]
    names = ", ".join(entry["name"] for entry in content["contexts"])
    expected = rf"expected a current-context, got none: choose one of its contexts \({names}\)"
    with pytest.raises(errors.KubeconfigError, match=expected):
        kubeconfigs.load(write(content))
    with pytest.raises(errors.KubeconfigError, match=expected):
        kubeconfig_files.extracted([write(content)])
    with pytest.raises(errors.KubeconfigError, match=r"contexts \(it has none\)"):
        kubeconfigs.load(write({"kind": "Config"}))
    assert kubeconfigs.load(write(content), context="one").host


def test_secrets_are_not_in_the_repr(write: Any, identity: identities.ServingCertificate) -> None:
    user = {
        "token": "secret",
        "client-certificate-data": encoded(identity.certificate),
        "client-key-data": encoded(identity.key),
    }
    shown = repr(kubeconfigs.load(write(document(user=user))))
    assert "secret" not in shown
    assert "PRIVATE" not in shown


@pytest.mark.parametrize("where", ["data", "file"])
def test_authorities_and_client_certificates(
    write: Any,
    tmp_path: pathlib.Path,
    identity: identities.ServingCertificate,
    where: str,
) -> None:
    def given(key: str, data: bytes) -> Document:
        if where == "data":
            return {f"{key}-data": encoded(data)}
        (tmp_path / f"{key}.pem").write_bytes(data)
        return {key: f"{key}.pem"}

    user = given("client-certificate", identity.certificate) | given("client-key", identity.key)
    cluster = given("certificate-authority", identity.authority)
    found = kubeconfigs.load(write(document(cluster, user)))
    assert found.authority == identity.authority
    shown = found.identity
    assert (shown.certificate, shown.key) == (identity.certificate, identity.key)
    context = found.context()
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1


def test_verification_can_be_switched_off(write: Any) -> None:
    found = kubeconfigs.load(write(document({"insecure-skip-tls-verify": True})))
    context = found.context()
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


NO_PEM = encoded(b"no certificate")


UNUSABLE: list[tuple[Any, str]] = [
    *cases.read(__file__, "unusable_texts"),
    *((document() | new, text) for new, text in cases.read(__file__, "unusable_documents")),
    *((document(cluster), text) for cluster, text in cases.read(__file__, "unusable_clusters")),
    *((document(user=user), text) for user, text in cases.read(__file__, "unusable_users")),
]


@pytest.mark.parametrize(("content", "text"), UNUSABLE)
def test_what_cannot_be_used(write: Any, content: Any, text: str, tmp_path: pathlib.Path) -> None:
    path = write(content)
    with pytest.raises(errors.KubeconfigError) as caught:
        kubeconfigs.load(path)
    assert text in str(caught.value)
    assert str(path) in str(caught.value)
    with pytest.raises(errors.KubeconfigError) as copied:
        kubeconfigs.extract([path], tmp_path / "copy")
    assert str(path) in str(copied.value)
    assert "/proc/" not in str(copied.value)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    "endpoint",
    [
        document({"certificate-authority-data": NO_PEM}),
        document({"certificate-authority-data": encoded(b"\xff\xfe")}),
        document(user={"client-certificate-data": NO_PEM, "client-key-data": NO_PEM}),
    ],
)
def test_what_is_no_certificate(write: Any, endpoint: Document) -> None:
    found = kubeconfigs.load(write(endpoint))
    with pytest.raises(errors.KubeconfigError, match="certificates and keys in PEM"):
        found.context()


def test_a_file_that_is_not_there_or_no_text(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.KubeconfigError, match="Name another one with --kubeconfig"):
        kubeconfigs.load(tmp_path / "nowhere")
    with pytest.raises(errors.KubeconfigError, match="expected a file, got a folder"):
        kubeconfigs.load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(errors.KubeconfigError, match="readable kubeconfig"):
        kubeconfigs.load(tmp_path / "binary")


def test_one_context_is_taken_out_of_several_files(tmp_path: pathlib.Path) -> None:
    """As kubectl merges KUBECONFIG: the first file that has a name counts. Paths stay valid, and
    nothing else comes along.
    """
    first, second = tmp_path / "a" / "first", tmp_path / "b" / "second"
    for path in (first, second):
        path.parent.mkdir()
    one = document({"certificate-authority": "ca.pem"}, {"tokenFile": "token"})
    first.write_text(json.dumps(one))
    other = document({"server": "https://never:1"}, {"token": "other"}) | {"current-context": "x"}
    other["clusters"].append({"name": "c2", "cluster": {"server": "http://second:1"}})
    second.write_text(json.dumps(other))
    for name in ("ca.pem", "token"):
        (first.parent / name).write_text("t")
    into = tmp_path / "extracted"
    assert kubeconfigs.extract([first, second], into) == "one"
    assert into.stat().st_mode & 0o777 == 0o600
    made = json.loads(into.read_text())
    assert [item["name"] for item in made["clusters"]] == ["c"]
    assert made["clusters"][0]["cluster"]["certificate-authority"] == str(tmp_path / "a/ca.pem")
    assert made["users"][0]["user"]["tokenFile"] == str(tmp_path / "a" / "token")
    assert kubeconfigs.extract([first, second], into, context="two") == "two"
    assert json.loads(into.read_text())["clusters"][0]["cluster"]["server"] == "http://second:1"
    with pytest.raises(errors.KubeconfigError, match="expected 'three' among its contexts"):
        kubeconfigs.extract([first, second], into, context="three")


def test_where_kubectl_looks(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, nowhere = tmp_path / "there", tmp_path / "nowhere"
    there.touch()
    monkeypatch.setenv("KUBECONFIG", f"{nowhere}:{there}")
    assert kubeconfig_files.default_paths() == [there]
    monkeypatch.setenv("KUBECONFIG", str(nowhere))
    assert kubeconfig_files.default_paths() == [nowhere]
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kubeconfig_files.default_paths() == [tmp_path / ".kube" / "config"]
