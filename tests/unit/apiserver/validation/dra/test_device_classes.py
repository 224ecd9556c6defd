"""DeviceClasses."""

from typing import Any

from harness.apiserver.validation.dra import device_classes

NOT_BOOL = [{"cel": {"expression": "1"}}]


def test_classes(fields: Any) -> None:
    wrong = {"spec": {"selectors": NOT_BOOL, "config": [{}], "extendedResourceName": "gpu"}}
    assert fields(device_classes.device_class(wrong)) == [
        ("spec.selectors[0].cel.expression", "Invalid"),
        ("spec.config[0].opaque", "Required"),
        ("spec.extendedResourceName", "Invalid"),
    ]


def test_unchanged_selectors_are_not_compiled_again(fields: Any) -> None:
    old = {"spec": {"selectors": NOT_BOOL}}
    assert fields(device_classes.device_class(old, old)) == []
    more = {"spec": {"selectors": [*NOT_BOOL, {"cel": {"expression": "true"}}]}}
    assert fields(device_classes.device_class(more, old)) == [
        ("spec.selectors[0].cel.expression", "Invalid")
    ]
