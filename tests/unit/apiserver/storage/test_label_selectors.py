"""Label and field selectors."""

from typing import Any

import pytest

from harness.apiserver.scheme import resources
from harness.apiserver.storage import selectors

R = resources
LABELS = {"app": "web", "tier": "front", "size": "5"}


WRONG = """
app=web=db|app=web db|a,=b|=web|(|!|a b|app in web|app in (|app in (a|app=-|a_/b|app>x|a,|app in (a)b
"""


def test_what_is_no_label_selector(refuses: Any) -> None:
    for text in WRONG.strip().split("|"):
        with refuses(400, "BadRequest", "not a label selector"):
            selectors.label_selector(text)


def test_unusual_label_selectors() -> None:
    unusual = {
        "app in ()": False,
        "other in (,)": False,
        "none in (,x)": True,
        "app in ( web ,db )": True,
        " app = web ": True,
        "none=": True,
        "!other,app": True,
    }
    found = {text: selectors.label_selector(text)(LABELS | {"none": ""}) for text in unusual}
    assert found == unusual


@pytest.mark.parametrize(
    ("resource", "text"),
    [(R.PODS, "spec.containers=x"), (R.CLAIMS, "spec.x=1"), (R.PODS, "metadata.name")],
)
def test_what_is_no_field_selector(refuses: Any, resource: Any, text: str) -> None:
    with refuses(400, "BadRequest", ""):
        selectors.field_selector(resource, text)
