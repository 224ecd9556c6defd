"""The claims that are generated from templates."""

import pytest

from harness import concurrency
from harness.extensions import replacements
from harness.subject import releases
from harness.subject.claim_control import claim_controllers, generating
from tests.support import api_objects

POD = api_objects.known_pod("p")


@pytest.mark.parametrize(
    ("pod", "entry", "base"),
    [
        ("p", "x", "p-x-"),
        ("p" * 30, "x" * 25, f"{'p' * 30}-{'x' * 25}-"),
        ("p" * 31, "x" * 25, f"{'p' * 30}-{'x' * 24}"),
        ("p" * 200, "x", f"{'p' * 56}-"),
        ("p" * 100, "x" * 50, f"{'p' * 37}-{'x' * 18}"),
        ("p", "x" * 63, f"-{'x' * 54}"),
    ],
)
def test_both_parts_of_a_long_name_are_shortened_as_upstream(
    pod: str, entry: str, base: str
) -> None:
    assert generating.name_base(pod, entry) == base
    assert len(base) <= 57


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


@pytest.mark.parametrize(("release", "blocks"), [(None, None), ("1.36.2", None), ("1.34.2", True)])
def test_only_in_1_34_2_the_claim_blocks_the_deletion_of_its_owner(
    release: str | None, blocks: bool | None
) -> None:
    claim = parts_of(release).generator().generated_claim(POD, "x", api_objects.template("t"))
    assert claim["metadata"]["ownerReferences"][0].get("blockOwnerDeletion") is blocks


def parts_of(release: str | None) -> claim_controllers.ControllerParts:
    chosen = releases.replacements_of(release)
    return replacements.replaced(claim_controllers.ControllerParts(), chosen)
