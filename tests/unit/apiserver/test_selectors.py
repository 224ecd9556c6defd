"""Label and field selectors."""

from typing import Any

import pytest

from harness.apiserver import resources, selectors

R = resources
LABELS = {"app": "web", "tier": "front", "size": "5"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("other=web", False),
        ("app!=db", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app", True),
        ("other", False),
        ("!other", True),
        ("!app", False),
        ("app in (web, db)", True),
        ("app in (db)", False),
        ("other in (web)", False),
        ("app notin (db)", True),
        ("app notin (web)", False),
        ("other notin (web)", True),
        ("size>4", True),
        ("size>5", False),
        ("size<6", True),
        ("app>1", False),
        ("other<1", False),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app in (web,db),tier", True),
        ("example.com/a!=b", True),
    ],
)
def test_label_selectors(text: str, expected: bool) -> None:
    assert selectors.label_selector(text)(LABELS) is expected


@pytest.mark.parametrize("text", ["app=web=db", "a b", "app in web", "(", "=web", "app in (a", "!"])
def test_what_is_no_label_selector(refuses: Any, text: str) -> None:
    with refuses(400, "BadRequest", "unable to parse requirement"):
        selectors.label_selector(text)


POD = {
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"nodeName": "node", "hostNetwork": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("metadata.name=p", True),
        ("metadata.name==p", True),
        ("metadata.name!=p", False),
        ("metadata.namespace=n,spec.nodeName=node", True),
        ("metadata.namespace=n,spec.nodeName=other", False),
        ("spec.nodeName!=", True),
        ("spec.schedulerName=", True),
        ("status.phase!=Running", False),
        ("spec.hostNetwork=true", True),
    ],
)
def test_field_selectors(text: str, expected: bool) -> None:
    assert selectors.field_selector(R.PODS, text)(POD) is expected


@pytest.mark.parametrize(
    ("resource", "text", "why"),
    [
        (R.PODS, "spec.containers=x", "field label not supported: spec.containers"),
        (R.CLAIMS, "spec.x=1", 'field label "spec.x" not supported for ResourceClaim'),
        (R.PODS, "metadata.name", "can't understand"),
    ],
)
def test_what_is_no_field_selector(refuses: Any, resource: Any, text: str, why: str) -> None:
    with refuses(400, "BadRequest", why):
        selectors.field_selector(resource, text)
