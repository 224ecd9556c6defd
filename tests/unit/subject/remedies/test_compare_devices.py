"""A remedy for H2: an update from one allocation to another is not ignored."""

from harness.subject.remedies import scheduler_remedies
from tests.support import api_objects


def test_the_new_device_is_in_before_the_old_one_is_out(
    steps: list[tuple[str, dict[str, object]]],
) -> None:
    old, new = (
        api_objects.claim("c", version=1, allocated=api_objects.allocation(*devices))
        for devices in ("ab", "c")
    )
    allocated = scheduler_remedies.ComparedDevices()
    allocated.on_add(old, initial=True)
    before = allocated.revision()
    steps.clear()
    allocated.on_update(old, new)
    assert [name for name, _ in steps] == [
        "remedy.reallocation-seen",
        "allocated-devices.inserted",
        "allocated-devices.removed",
        "allocated-devices.removed",
    ]
    assert allocated.revision() == before + 2
