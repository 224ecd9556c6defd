"""When devices were free of taints, by the versions of slices and DeviceTaintRules.

A device is clear as long as some slice lists it without a taint that keeps it from being allocated;
a rule that selects it makes it tainted, whatever the slices say.
"""

import dataclasses
from collections.abc import Iterable, Iterator

import msgspec

from harness.history import records
from harness.model import devices

BLOCKING = ("NoSchedule", "NoExecute")
"""The effects of taints that keep a device from being allocated."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an API object; fields that this judge does not read are left out."""


class _Taint(_Part, frozen=True):
    effect: str = ""

    @property
    def is_blocking(self) -> bool:
        return self.effect in BLOCKING


class _Device(_Part, frozen=True):
    name: str
    taints: list[_Taint] | None = None


class _Pool(_Part, frozen=True):
    name: str


class _SliceSpec(_Part, frozen=True):
    driver: str
    pool: _Pool
    devices: list[_Device] | None = None


class _Selector(_Part, frozen=True):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def selects(self, device: devices.DeviceID) -> bool:
        wanted = (self.driver, self.pool, self.device)
        return all(name in (None, own) for name, own in zip(wanted, device, strict=True))


class _RuleSpec(_Part, frozen=True):
    taint: _Taint
    device_selector: _Selector | None = None
    """None: the rule selects nothing."""


class _Options(_Part, frozen=True):
    tolerations: list[msgspec.Raw] | None = None


class _Request(_Part, frozen=True):
    exactly: _Options | None = None
    first_available: list[_Options] | None = None

    @property
    def tolerates(self) -> bool:
        options = [*filter(None, [self.exactly]), *(self.first_available or ())]
        return any(option.tolerations for option in options)


class _Requests(_Part, frozen=True):
    requests: list[_Request] | None = None


class _ClaimSpec(_Part, frozen=True):
    devices: _Requests = _Requests()


class _Meta(_Part, frozen=True):
    uid: str


class _Slice(_Part, frozen=True):
    metadata: _Meta
    spec: _SliceSpec


class _Rule(_Part, frozen=True):
    metadata: _Meta
    spec: _RuleSpec


class _Claim(_Part, frozen=True):
    metadata: _Meta
    spec: _ClaimSpec = _ClaimSpec()


_slices = msgspec.json.Decoder(_Slice)
_rules = msgspec.json.Decoder(_Rule)
_claims = msgspec.json.Decoder(_Claim)


@dataclasses.dataclass(slots=True)
class _Span:
    """A span of resourceVersions; `until` is exclusive, None: to the end of the history."""

    since: int
    until: int | None = None


@dataclasses.dataclass(slots=True)
class TaintTimelines:
    """Slices and rules in all their versions, and the claims that tolerate taints."""

    _clear: dict[str, list[_Span]] = dataclasses.field(default_factory=dict)
    """By `driver/pool/device`: the versions of slices that list it without such a taint."""
    _open: dict[str, list[_Span]] = dataclasses.field(default_factory=dict)
    """The spans of the newest version of each slice, by its uid."""
    _tainting: dict[str, list[tuple[_RuleSpec, _Span]]] = dataclasses.field(default_factory=dict)
    """The versions of each rule, by its uid."""
    _tolerant: set[str] = dataclasses.field(default_factory=set)
    """UIDs of the claims with tolerations."""

    def follow(self, observations: Iterable[records.Body]) -> Iterator[records.Body]:
        """Yield the records of the recorder, each after noting it."""
        for record in observations:
            if isinstance(record, records.Observation) and record.type != "FINAL":
                self._note(record)
            yield record

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

    def _note(self, record: records.Observation) -> None:
        match record.resource:
            case "resourceslices":
                self._note_slice(record)
            case "devicetaintrules":
                self._note_rule(record)
            case "resourceclaims" if record.type in ("ADDED", "LISTED"):
                claim = _claims.decode(record.object)
                if any(item.tolerates for item in claim.spec.devices.requests or ()):
                    self._tolerant.add(claim.metadata.uid)
            case _:
                pass

    def _note_slice(self, record: records.Observation) -> None:
        piece, version = _slices.decode(record.object), record.resource_version
        for span in self._open.pop(piece.metadata.uid, ()):
            span.until = version
        if record.type == "DELETED":
            return
        opened = self._open[piece.metadata.uid] = []
        for device in piece.spec.devices or ():
            if not any(taint.is_blocking for taint in device.taints or ()):
                span = _Span(version)
                opened.append(span)
                key = devices.DeviceID(piece.spec.driver, piece.spec.pool.name, device.name)
                self._clear.setdefault(str(key), []).append(span)

    def _note_rule(self, record: records.Observation) -> None:
        rule, version = _rules.decode(record.object), record.resource_version
        versions = self._tainting.setdefault(rule.metadata.uid, [])
        if versions:
            versions[-1][1].until = version
        if record.type != "DELETED":
            versions.append((rule.spec, _Span(version)))
