"""Label and field selectors."""

from typing import Any

import pytest

from harness.apiserver import json_codec
from harness.apiserver.scheme import resources
from harness.apiserver.storage import field_selectors, label_selectors, stored_objects

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
    assert label_selectors.label_selector(text)(LABELS) is expected


@pytest.mark.parametrize(
    "text",
    ["app=web=db", "app=web db", "a,=b", "=web", "(", "!", "a b", "app in web", "app in (",
     "app in (a", "app=-", "a_/b", "app>x", "a,", "app in (a)b"],
)  # fmt: skip
def test_what_is_no_label_selector(refuses: Any, text: str) -> None:
    with refuses(400, "BadRequest", "not a label selector"):
        label_selectors.label_selector(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app in ()", False),
        ("other in (,)", False),
        ("none in (,x)", True),
        ("app in ( web ,db )", True),
        (" app = web ", True),
        ("none=", True),
        ("!other,app", True),
    ],
)
def test_unusual_label_selectors(text: str, expected: bool) -> None:
    assert label_selectors.label_selector(text)(LABELS | {"none": ""}) is expected


POD = {
    "metadata": {"name": "p", "namespace": "n", "uid": "1", "resourceVersion": "1"},
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
    stored = stored_objects.revive(json_codec.encode(POD))
    assert field_selectors.field_selector(R.PODS, text)(stored) is expected


@pytest.mark.parametrize(
    ("resource", "text"),
    [(R.PODS, "spec.containers=x"), (R.CLAIMS, "spec.x=1"), (R.PODS, "metadata.name")],
)
def test_what_is_no_field_selector(refuses: Any, resource: Any, text: str) -> None:
    with refuses(400, "BadRequest", ""):
        field_selectors.field_selector(resource, text)
