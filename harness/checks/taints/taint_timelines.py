"""When devices were free of taints, by the versions of slices and DeviceTaintRules.

A device is clear as long as some slice lists it without a taint that keeps it from being allocated;
a rule that selects it makes it tainted, whatever the slices say.
"""

import dataclasses

from harness.checks.observed import folders, observations, observed_cluster
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
    """By `driver/pool/device`: the versions of slices that list it without such a taint."""
    _open: dict[str, list[_Span]] = dataclasses.field(default_factory=dict)
    """The spans of the newest version of each slice, by its uid."""
    _tainting: dict[str, list[tuple[observed_cluster.TaintRuleSpec, _Span]]] = dataclasses.field(
        default_factory=dict
    )
    """The versions of each rule, by its uid."""
    _tolerant: set[str] = dataclasses.field(default_factory=set)
    """UIDs of the claims with tolerations."""

    def tolerates(self, claim: str) -> bool:
        """Return whether a claim, by its uid, has tolerations."""
        return claim in self._tolerant

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
        """Return whether there was a version in the span in which no rule tainted the device."""
        parsed = devices.parse(device)
        tainted = sorted(
            (span.since, until if span.until is None else span.until)
            for versions in self._tainting.values()
            for spec, span in versions
            if spec.taint.is_blocking
            and spec.device_selector is not None
            and spec.device_selector.selects(parsed)
        )
        reached = since
        for begin, end in tainted:
            if begin > reached:
                break
            reached = max(reached, end)
        return reached < until

    # ------------------------------------------------------------------- observations

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note whether a new claim tolerates taints."""
        if seen.type in ("ADDED", "LISTED"):
            requests = seen.object.spec.devices.requests or ()
            if any(option.tolerations for request in requests for option in request.options):
                self._tolerant.add(seen.object.metadata.uid)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        """Note which devices a version of a slice lists without a blocking taint."""
        uid, spec, version = seen.object.metadata.uid, seen.object.spec, seen.version
        for span in self._open.pop(uid, ()):
            span.until = version
        if seen.is_gone:
            return
        opened = self._open[uid] = []
        for device in spec.devices or ():
            if not any(taint.is_blocking for taint in device.taints or ()):
                span = _Span(version)
                opened.append(span)
                key = devices.DeviceID(spec.driver, spec.pool.name, device.name)
                self._clear.setdefault(str(key), []).append(span)

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        """Note a version of a rule."""
        versions = self._tainting.setdefault(seen.object.metadata.uid, [])
        if versions and versions[-1][1].until is None:
            versions[-1][1].until = seen.version
        if not seen.is_gone:
            versions.append((seen.object.spec, _Span(seen.version)))
