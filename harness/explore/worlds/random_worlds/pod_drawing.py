"""Draws the pods of a world and their claims: own, shared, generated, or of extended resources."""

import dataclasses
from collections.abc import Sequence

from harness.client import apis
from harness.explore.worlds import literals, parts, world_fixtures
from harness.explore.worlds.random_worlds import claim_drawing, device_drawing, drawings
from harness.model.objects import Object

MANY = 102
"""Number of generated claims of a pod that has more than the controller might remember."""
_ONE_DEVICE = world_fixtures.claim("")["spec"]["devices"]


@dataclasses.dataclass(slots=True, kw_only=True)
class Users:
    """The pods of a world and their claims, as far as they are drawn."""

    stream: drawings.DrawingStream
    supply: device_drawing.Supply
    others: list[parts.Part] = dataclasses.field(default_factory=list)
    pods: list[parts.Part] = dataclasses.field(default_factory=list)
    generated: list[str] = dataclasses.field(default_factory=list)
    """Names of the pods with generated claims."""
    is_small: bool = False
    """True if the pods compete for few devices, and nothing else is drawn for them."""

    @property
    def has_several(self) -> bool:
        entries = [pod.documents[0]["spec"].get("resourceClaims") or () for pod in self.pods]
        return any(len(listed) > 1 for listed in entries)

    @property
    def has_extended(self) -> bool:
        return any(is_extended(pod.documents[0]) for pod in self.pods)

    @property
    def is_allocated(self) -> bool:
        """True if another client has allocated a claim before."""
        return any("status" in item for part in self.others for item in part.documents)

    def draw(self, *, is_controlled: bool) -> None:
        """Draw all; `is_controlled`: a claim controller can generate claims."""
        stream, supply = self.stream, self.supply
        if not supply.has_conditions and stream.chance(0.07, "two schedulers share a claim"):
            self._draw_of_two_schedulers()
            return
        shared = self._shared_claim() if stream.chance(0.3, "pods share a claim") else None
        template = self._template() if is_controlled and stream.chance(0.55) else None
        may_extend = not supply.kinds and len(supply.drivers) == 1 and stream.chance(0.15)
        self.others += [part for part in (shared, template) if part is not None]
        asked = claim_drawing.asked(stream, supply) if stream.chance(0.6) else None
        for number in range(1, stream.weighted([(1, 1.5), (2, 5), (3, 4), (4, 1)]) + 1):
            name = f"pod-{number}"
            if may_extend and stream.chance(0.8, "pod: extended resource"):
                self._add(name, ())
            elif template is not None and stream.chance(0.7, "pod: generated claims"):
                self._add_of_template(name)
            elif (
                shared is not None
                and supply.has_partitions
                and stream.chance(0.4, "pod: a shared claim and one of its own")
            ):
                self._add_with_claims(name, [shared.name, *self._own_claims(name, asked)])
            elif shared is not None and stream.chance(0.7):
                self._add_with_claims(name, [shared.name])
            else:
                names = self._own_claims(name, asked)
                if stream.chance(0.45 if supply.is_roomy else 0.04, "pod: names a claim twice"):
                    names.append(names[0])
                self._add_with_claims(name, names)

    def draw_competitors(self) -> None:
        """Draw pods that want a device each, by a claim of their own, all from the beginning."""
        for number in range(1, self.stream.weighted([(2, 3), (3, 1)]) + 1):
            own = _claim(f"claim-{number}", _ONE_DEVICE)
            self.others.append(own)
            self._add_with_claims(f"pod-{number}", [own.name])

    def _draw_of_two_schedulers(self) -> None:
        """Draw pods of two schedulers that share the only claim: one of them allocates it."""
        shared = _claim("claim-shared", claim_drawing.asked(self.stream, self.supply))
        self.others += [shared, literals.SECOND_SCHEDULER]
        for number in range(1, self.stream.number(2, 3) + 1):
            self._add_with_claims(f"pod-{number}", [shared.name])
            if number % 2 == 0:
                pod = self.pods[-1]
                pod.documents[0]["spec"]["schedulerName"] = world_fixtures.OTHER_SCHEDULER
                needs = (*pod.needs, parts.SECOND_SCHEDULER)
                self.pods[-1] = dataclasses.replace(pod, needs=needs)

    # ------------------------------------------------------------------------------ claims

    def _own_claims(self, pod: str, devices: Object | None) -> list[str]:
        """Add the claims of one pod, and return their names; `devices` None: each asks for
        something else.
        """
        stream = self.stream
        count = 2 if stream.chance(0.12, "pod: two claims") else 1
        when = parts.AT_REST if stream.chance(0.06, "claim: comes after its pod") else parts.START
        names = [f"claim-{pod.removeprefix('pod-')}{letter}" for letter in "ab"[:count]]
        for name in names:
            asked = devices or claim_drawing.asked(stream, self.supply)
            self.others.append(_claim(name, asked, when=when))
        return names

    def _shared_claim(self) -> parts.Part:
        """Return a claim of several pods, which may be allocated, but reserved for no one."""
        stream, supply = self.stream, self.supply
        part = _claim("claim-shared", claim_drawing.asked(stream, supply))
        if supply.is_plain and stream.chance(0.35, "claim: allocated before"):
            part = _claim(part.name, _ONE_DEVICE)
            [document] = part.documents
            document["status"] = world_fixtures.allocated("device-0", node_name=supply.nodes[0])
            document["metadata"]["finalizers"] = [world_fixtures.FINALIZER]
        return part

    def _template(self) -> parts.Part:
        document = world_fixtures.template()
        document["spec"]["spec"]["devices"] = claim_drawing.asked(self.stream, self.supply)
        if self.stream.chance(0.4, "template: annotations"):
            document["spec"]["metadata"] = {"annotations": {"example.com/team": "a"}}
        return literals.there(document, needs=(parts.CONTROLLER,), is_own=True)

    # -------------------------------------------------------------------------------- pods

    def _add_with_claims(self, name: str, claims: list[str]) -> None:
        listed = enumerate(claims)
        entries = [
            {"name": f"entry-{index}", "resourceClaimName": claim} for index, claim in listed
        ]
        self._add(name, entries, needs=tuple(claims))

    def _add_of_template(self, name: str) -> None:
        self.generated.append(name)
        count = 2 if self.stream.chance(0.3, "pod: two generated claims") else 1
        if self.stream.chance(0.015, "pod: a hundred generated claims"):
            count = MANY
        source = {"resourceClaimTemplateName": world_fixtures.TEMPLATE}
        entries = [{"name": f"{name}-{index}", **source} for index in range(count)]
        self._add(name, entries, needs=(world_fixtures.TEMPLATE,))

    def _add(self, name: str, entries: Sequence[Object], needs: tuple[str, ...] = ()) -> None:
        """Add a pod with these claims; without any, it asks for the extended resource."""
        document = world_fixtures.pod(name, *["none"] * len(entries))
        if entries:
            document["spec"]["resourceClaims"] = list(entries)
        if len(self.supply.nodes) > 1 and self.stream.chance(0.4, "pod: node selector"):
            document["spec"]["nodeSelector"] = {"node": self.stream.one_of(self.supply.nodes)}
        when = self._when() if self.pods and not self.is_small else parts.BEGIN
        self.pods.append(
            parts.Part(name=name, kind="pod", documents=(document,), needs=needs, when=when)
        )

    def _when(self) -> str:
        """Draw when a pod comes that is not the first one."""
        others = [(parts.BEGIN, 6.0), (parts.AT_REST, 1.5), (parts.ANY_TIME, 0.5)]
        first = next((part for part in self.others if part.kind == "claim"), None)
        if first is not None and first.documents[0]["kind"] == apis.CLAIMS.kind:
            others.append((f"allocated {first.name}", 2.0))
        when = self.stream.weighted(others)
        self.stream.note(f"pod: comes {when.partition(' ')[0]}")
        return when


def _claim(name: str, devices: Object, *, when: str = parts.START) -> parts.Part:
    document = {**world_fixtures.claim(name), "spec": {"devices": devices}}
    return literals.there(document, when=when, is_own=True)


def has_many_claims(pod: Object) -> bool:
    return len(pod["spec"].get("resourceClaims", ())) >= MANY


def is_extended(pod: Object) -> bool:
    return "resources" in pod["spec"]["containers"][0]
