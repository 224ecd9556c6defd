"""Tolerations of pods."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import tolerations

Document = dict[str, Any]
CASES = [
    ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}, []),
    ({"operator": "Exists"}, []),
    ({"key": "k", "effect": "NoExecute", "tolerationSeconds": 0}, []),
    ({}, [("t[0].operator", "Invalid")]),
    ({"key": "-"}, [("t[0].key", "Invalid")]),
    ({"key": "k", "value": "-"}, [("t[0].operator", "Invalid")]),
    ({"key": "k", "operator": "Exists", "value": "v"}, [("t[0].operator", "Invalid")]),
    ({"key": "k", "operator": "x"}, [("t[0].operator", "NotSupported")]),
    ({"key": "k", "effect": "x"}, [("t[0].effect", "NotSupported")]),
    ({"key": "k", "tolerationSeconds": 1}, [("t[0].effect", "Invalid")]),
]


@pytest.mark.parametrize(("toleration", "wrong"), CASES)
def test_tolerations(fields: Any, toleration: Document, wrong: list[Any]) -> None:
    assert fields(tolerations.listed([toleration], "t")) == wrong
