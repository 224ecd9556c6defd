"""A remedy for hypothesis H2: an allocation that changed while it was not watched."""

from collections.abc import Iterator

from harness import concurrency
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.tracking import allocated_devices


class ComparedDevices(allocated_devices.AllocatedDevices):
    """An update of a claim is compared by its devices, not only by whether it has an allocation.

    Hypothesis H2. An informer that lists again after a gap in its watch delivers several changes as
    one. If a claim lost device A and got device B meanwhile, the tracker of allocated devices
    (pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go) sees an update from one
    allocation to another and ignores it, because an allocation is immutable while it is set. From
    then on A looks used and B looks free, and B is given to a second claim. The same happens
    without a gap if another scheduler had allocated A: the scheduler assumes its own allocation of
    B before the event has come that A was given back.

    Upstream could do this: in `onUpdate`, insert the devices that the new allocation has and the
    old one lacks, and remove those that only the old one has.

    Why it is enough: after each event the set holds the devices of the newest version of the claim
    that the assume cache has, whatever versions were skipped, since the difference is taken from
    the version that the last event left. The insertion comes first and each change increases the
    revision, so that a gather never misses both devices. An update that changes no device costs two
    small sets and no revision.

    Not covered: the devices are still not counted. If two claims hold a device already, the first
    that gives it back makes it look free (hypothesis H4). It costs no request.
    """

    facts = replacements.Facts(name="compare-devices-on-update")

    def on_update(self, old: Object, new: Object) -> None:
        """Insert the devices that were added, and remove those that are gone."""
        before, after = claims.allocation_of(old), claims.allocation_of(new)
        taken, freed = _without(after, before), _without(before, after)
        if before and after and (taken or freed):
            concurrency.step("remedy.reallocation-seen", claim=claims.uid_of(new))
        if taken:
            self._insert(new, taken)
        if freed:
            self._remove(new, freed)


def _without(allocation: Object | None, other: Object | None) -> Object | None:
    """Return an allocation without the devices and shares of another; None: nothing is left."""
    known = set(_held(other))
    results = (allocation or {}).get("devices", {}).get("results", ())
    left = [row for row in results if not known.issuperset(_held({"devices": {"results": [row]}}))]
    return {"devices": {"results": left}} if left else None


def _held(allocation: Object | None) -> Iterator[str]:
    yield from claims.exclusive_devices(allocation)
    for device, share, _ in claims.shares(allocation):
        yield f"{device}/{share}"
