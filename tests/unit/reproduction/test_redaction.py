"""Secrets and paths do not leave the machine; what an issue needs stays."""

import pytest

from harness.report.redaction import texts
from harness.reproduction import markdown

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
BASE64 = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t" * 3


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("    token: s3cr3t-value", "s3cr3t-value"),
        ('{"token":"s3cr3t-value"}', "s3cr3t-value"),
        (f"got {JWT} from the server", JWT),
        (f"client-key-data: {BASE64}", BASE64),
        (f"unexpected {BASE64}==", BASE64),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "abc"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "cut off"),
        ("password=hunter2", "hunter2"),
    ],
)
def test_secrets(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in texts.clean(text)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("open /home/me/.kube/config: denied", "open …/config: denied"),
        ('--kubeconfig="/tmp/a_b/kubeconfig"', '--kubeconfig="…/kubeconfig"'),
        ("~/.kube/config", "…/config"),
        ("file:///srv/x", "…/x"),
    ],
)
def test_paths(text: str, cleaned: str) -> None:
    assert texts.clean(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "PUT /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c/status",
        "GET https://127.0.0.1:6443/api/v1/pods?watch=1",
        "gpu.example/worker-0/worker-0-device-000",
        "uid 5377cc85-11fb-42cf-850b-fdb08534a31c at resourceVersion 4696",
        "pods/binding of ns/pod-1",
        "https://dl.k8s.io/v1.36.4/bin/linux/amd64/kube-scheduler",
    ],
)
def test_what_an_issue_needs_stays(text: str) -> None:
    assert texts.clean(text) == text


# ------------------------------------------------------------------ Markdown


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("a|b", r"a\|b"),
        ("<img src=x>", r"\<img src=x\>"),
        ("[x](http://y)", r"\[x\](http&#58;//y)"),
        ("@kubernetes #1", r"&#64;kubernetes \#1"),
        ("two\nlines\x1b[2J", r"two lines\\x1b\[2J"),
        ("- no list", r"\- no list"),
        ("1. no list", "&#49;. no list"),
        ("1.36.2", "1.36.2"),
        ("a & b", "a &amp; b"),
        ("claim-0001 (v2.1)", "claim-0001 (v2.1)"),
    ],
)
def test_text_stays_text(given: str, written: str) -> None:
    assert markdown.text(given) == written


def test_nothing_ends_a_code_block() -> None:
    assert markdown.block(["```", "````x"]) == "`````\n```\n````x\n`````"
    assert markdown.code("a`b") == "``a`b``"


def test_secrets_are_removed_before_anything_is_escaped() -> None:
    assert markdown.text("see /home/my_dir/file") == "see …/file"
    assert JWT not in markdown.block([JWT])
    assert JWT not in markdown.code(JWT)
