"""Label and field selectors."""

from typing import Any

import pytest

from harness.apiserver.scheme import resources
from harness.apiserver.storage import selectors

R = resources
LABELS = {"app": "web", "tier": "front", "size": "5"}


@pytest.mark.parametrize(
    "text",
    ["app=web=db", "app=web db", "a,=b", "=web", "(", "!", "a b", "app in web", "app in (",
     "app in (a", "app=-", "a_/b", "app>x", "a,", "app in (a)b"],
)  # fmt: skip
def test_what_is_no_label_selector(refuses: Any, text: str) -> None:
    with refuses(400, "BadRequest", "not a label selector"):
        selectors.label_selector(text)


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
    assert selectors.label_selector(text)(LABELS | {"none": ""}) is expected


POD = {
    "metadata": {"name": "p", "namespace": "n", "uid": "1", "resourceVersion": "1"},
    "spec": {"nodeName": "node", "hostNetwork": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("resource", "text"),
    [(R.PODS, "spec.containers=x"), (R.CLAIMS, "spec.x=1"), (R.PODS, "metadata.name")],
)
def test_what_is_no_field_selector(refuses: Any, resource: Any, text: str) -> None:
    with refuses(400, "BadRequest", ""):
        selectors.field_selector(resource, text)
