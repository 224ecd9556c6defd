"""When devices were free of taints, by the versions of slices and DeviceTaintRules.

A device is clear as long as some slice lists it without a taint that keeps it from being allocated;
a rule that selects it makes it tainted, whatever the slices say.
"""

import bisect
import dataclasses
from collections.abc import Iterator

from harness.checks.observed import folders, observations, observed_cluster
from harness.checks.taints import attempt_views
from harness.model import devices


@dataclasses.dataclass(slots=True)
class _Span:
    """A span of resourceVersions; `until` is exclusive, None: to the end of the history."""

    since: int
    until: int | None = None


@dataclasses.dataclass(slots=True)
class TaintTimelines(folders.Folder):
    """Slices and rules in all their versions, and the claims that tolerate taints."""

    _clear: dict[str, list[_Span]] = dataclasses.field(default_factory=dict)
    """Versions of slices that list a device without such a taint, by `driver/pool/device`."""
    _open: dict[str, list[_Span]] = dataclasses.field(default_factory=dict)
    """The spans of the newest version of each slice, by its uid."""
    _tainting: dict[str, list[tuple[observed_cluster.TaintRuleSpec, _Span]]] = dataclasses.field(
        default_factory=dict
    )
    """The versions of each rule, by its uid."""
    _tolerant: set[str] = dataclasses.field(default_factory=set)
    """UIDs of the claims with tolerations."""
    _blocked: set[str] = dataclasses.field(default_factory=set)
    """`driver/pool/device` of the devices that a slice has listed with a blocking taint."""
    _claimed_ns: dict[str, int] = dataclasses.field(default_factory=dict)
    """Uid of a claim -> when its creation was seen."""
    _slices: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    """Time and version of each change of a slice, in order."""
    _rules: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    """The same of the rules."""

    def tolerates(self, claim: str) -> bool:
        """Return whether a claim, by its uid, has tolerations."""
        return claim in self._tolerant

    def view_at(self, ts_ns: int) -> attempt_views.View:
        """Return the versions of slices and rules that were the newest at a time."""
        return attempt_views.View(_newest(self._slices, ts_ns), _newest(self._rules, ts_ns))

    def claimed_ns(self, claim: str) -> int:
        """Return when the creation of a claim was seen, by its uid; 0: it was not."""
        return self._claimed_ns.get(claim, 0)

    @property
    def has_taints(self) -> bool:
        """True if a slice or a rule ever had a taint that keeps devices from being allocated."""
        return bool(self._blocked) or any(
            spec.taint.is_blocking for versions in self._tainting.values() for spec, _ in versions
        )

    def was_tainted(self, device: str) -> bool:
        return device in self._blocked or any(self._rules_of(device))

    def could_be_clear(self, device: str, *, slices: int, rules: int, until: int) -> bool:
        """Return whether a scheduler may have seen the device without a blocking taint.

        It has seen some version of the slices from `slices` on, and some of the rules from `rules`
        on, both before `until`.
        """
        spans = self._clear.get(device, ())
        is_listed = any(
            span.since < until and (span.until is None or span.until > slices) for span in spans
        )
        return is_listed and self._has_gap(device, rules, until)

    def _has_gap(self, device: str, since: int, until: int) -> bool:
        tainted = sorted(
            (span.since, until if span.until is None else span.until)
            for span in self._rules_of(device)
        )
        reached = since
        for begin, end in tainted:
            if begin > reached:
                break
            reached = max(reached, end)
        return reached < until

    def _rules_of(self, device: str) -> Iterator[_Span]:
        parsed = devices.parse(device)
        for versions in self._tainting.values():
            for spec, span in versions:
                selector = spec.device_selector
                if spec.taint.is_blocking and selector is not None and selector.selects(parsed):
                    yield span

    # ------------------------------------------------------------------- observations

    def see_claim(self, seen: observations.SeenClaim) -> None:
        if seen.type == "MODIFIED":
            return
        if seen.type == "ADDED":
            self._claimed_ns[seen.object.metadata.uid] = seen.ts_ns
        if seen.type in ("ADDED", "LISTED"):
            requests = seen.object.spec.devices.requests or ()
            if any(option.tolerations for request in requests for option in request.options):
                self._tolerant.add(seen.object.metadata.uid)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        """Note which devices a version of a slice lists without a blocking taint."""
        uid, spec, version = seen.object.metadata.uid, seen.object.spec, seen.version
        self._slices.append((seen.ts_ns, version))
        for span in self._open.pop(uid, ()):
            span.until = version
        if seen.is_gone:
            return
        opened = self._open[uid] = []
        for device in spec.devices or ():
            key = str(devices.DeviceID(spec.driver, spec.pool.name, device.name))
            if any(taint.is_blocking for taint in device.taints or ()):
                self._blocked.add(key)
            else:
                span = _Span(version)
                opened.append(span)
                self._clear.setdefault(key, []).append(span)

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        versions = self._tainting.setdefault(seen.object.metadata.uid, [])
        if versions and versions[-1][1].until is None:
            versions[-1][1].until = seen.version
        self._rules.append((seen.ts_ns, seen.version))
        if not seen.is_gone:
            versions.append((seen.object.spec, _Span(seen.version)))


def _newest(changes: list[tuple[int, int]], ts_ns: int) -> int:
    """Return the newest version up to a time; all may have been seen if there is none."""
    count = bisect.bisect_right(changes, ts_ns, key=lambda item: item[0])
    return changes[count - 1][1] if count else attempt_views.UNKNOWN
