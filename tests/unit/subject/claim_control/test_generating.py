"""The claims that are generated from templates."""

import pytest

from harness import concurrency
from harness.extensions import replacements
from harness.subject import releases
from harness.subject.claim_control import claim_controllers
from tests.support import api_objects

POD = api_objects.known_pod("p")


def test_up_to_1_36_2_the_annotation_of_another_entry_can_come_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    template = api_objects.template("t", metadata={"annotations": {"a": "1"}})
    generator = parts_of("1.36.2").generator()

    def come_between(*_: object, **__: object) -> None:
        monkeypatch.undo()
        generator.generated_claim(POD, "y", template)

    monkeypatch.setattr(concurrency, "step", come_between)
    first = generator.generated_claim(POD, "x", template)
    assert first["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] == "y"


def parts_of(release: str | None) -> claim_controllers.ControllerParts:
    chosen = releases.replacements_of(release)
    return replacements.replaced(claim_controllers.ControllerParts(), chosen)
