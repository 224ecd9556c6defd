"""Draws the pods of a world and their claims: own, shared, generated, or of extended resources."""

import dataclasses
from collections.abc import Sequence

from harness.client import apis
from harness.explore.worlds import parts, world_fixtures
from harness.explore.worlds.random_worlds import claim_drawing, device_drawing, drawings
from harness.model.objects import Object

Stream = drawings.DrawingStream
TEMPLATE = "template"
"""Name of the part from which claims are generated."""
MANY = 102
"""Number of generated claims of a pod that has more than the controller might remember."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Users:
    """The pods of a world and their claims."""

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


def users(stream: Stream, supply: device_drawing.Supply, *, is_controlled: bool) -> Users:
    """Draw the pods; `is_controlled`: a claim controller can generate claims for them."""
    if not supply.has_conditions and stream.chance(0.07, "two schedulers share a claim"):
        return _of_two_schedulers(stream, supply)
    found = Users()
    shared = _shared_claim(stream, supply) if stream.chance(0.3, "pods share a claim") else None
    template = _template(stream, supply) if is_controlled and stream.chance(0.55) else None
    may_extend = not supply.kinds and len(supply.drivers) == 1 and stream.chance(0.15)
    found.others += [part for part in (shared, template) if part is not None]
    asked = claim_drawing.asked(stream, supply) if stream.chance(0.6) else None
    for number in range(1, stream.weighted([(1, 1.5), (2, 5), (3, 4), (4, 1)]) + 1):
        name = f"pod-{number}"
        if may_extend and stream.chance(0.8, "pod: extended resource"):
            pod = _pod(stream, supply, name, found, ())
        elif template is not None and stream.chance(0.7, "pod: generated claims"):
            pod = _of_template(stream, supply, name, found, template.name)
        elif (
            shared is not None
            and supply.has_partitions
            and stream.chance(0.4, "pod: a shared claim and one of its own")
        ):
            own = _own_claims(stream, supply, name, asked)
            found.others += own
            names = [shared.name, *(part.name for part in own)]
            pod = _with_claims(stream, supply, name, found, names)
        elif shared is not None and stream.chance(0.7):
            pod = _with_claims(stream, supply, name, found, [shared.name])
        else:
            own = _own_claims(stream, supply, name, asked)
            found.others += own
            names = [part.name for part in own]
            if stream.chance(0.45 if supply.is_roomy else 0.04, "pod: names a claim twice"):
                names.append(names[0])
            pod = _with_claims(stream, supply, name, found, names)
        found.pods.append(pod)
    return found


def competitors(stream: Stream, supply: device_drawing.Supply) -> Users:
    """Draw pods that want a device each, by a claim of their own, all from the beginning."""
    found = Users(is_small=True)
    request = {"name": "device", "exactly": {"deviceClassName": world_fixtures.DEVICE_CLASS}}
    for number in range(1, stream.weighted([(2, 3), (3, 1)]) + 1):
        own = _claim(f"claim-{number}", {"requests": [request]})
        found.others.append(own)
        found.pods.append(_with_claims(stream, supply, f"pod-{number}", Users(), [own.name]))
    return found


def _own_claims(
    stream: Stream, supply: device_drawing.Supply, pod: str, devices: Object | None
) -> list[parts.Part]:
    """Return the claims of one pod; `devices` None: each asks for something else."""
    count = 2 if stream.chance(0.12, "pod: two claims") else 1
    when = parts.AT_REST if stream.chance(0.06, "claim: comes after its pod") else parts.START
    return [
        _claim(f"claim-{pod.removeprefix('pod-')}{'ab'[index]}", asked, when=when)
        for index in range(count)
        for asked in [devices or claim_drawing.asked(stream, supply)]
    ]


def _claim(name: str, devices: Object, *, when: str = parts.START) -> parts.Part:
    document = {**world_fixtures.claim(name), "spec": {"devices": devices}}
    return parts.Part(name=name, kind="claim", documents=(document,), when=when, is_own=True)


def _shared_claim(stream: Stream, supply: device_drawing.Supply) -> parts.Part:
    """Return a claim of several pods; another client may have allocated it, reserved for no one."""
    part = _claim("claim-shared", claim_drawing.asked(stream, supply))
    if not (supply.is_plain and stream.chance(0.35, "claim: allocated before")):
        return part
    [document] = part.documents
    node = supply.nodes[0]
    request = {"name": "device", "exactly": {"deviceClassName": world_fixtures.DEVICE_CLASS}}
    status = world_fixtures.allocated("device-0", node_name=node)
    document = {**document, "spec": {"devices": {"requests": [request]}}, "status": status}
    document["metadata"] = {**document["metadata"], "finalizers": [world_fixtures.FINALIZER]}
    return dataclasses.replace(part, documents=(document,))


def _template(stream: Stream, supply: device_drawing.Supply) -> parts.Part:
    document = world_fixtures.template()
    document["spec"]["spec"]["devices"] = claim_drawing.asked(stream, supply)
    if stream.chance(0.4, "template: annotations"):
        document["spec"]["metadata"] = {"annotations": {"example.com/team": "a"}}
    return parts.Part(
        name=TEMPLATE, kind="claim", documents=(document,), needs=(parts.CONTROLLER,), is_own=True
    )


# ---------------------------------------------------------------------------------- pods


def _with_claims(
    stream: Stream,
    supply: device_drawing.Supply,
    name: str,
    found: Users,
    claims: list[str],
) -> parts.Part:
    listed = enumerate(claims)
    entries = [{"name": f"entry-{index}", "resourceClaimName": claim} for index, claim in listed]
    return _pod(stream, supply, name, found, entries, needs=tuple(claims))


def _of_template(
    stream: Stream, supply: device_drawing.Supply, name: str, found: Users, template: str
) -> parts.Part:
    found.generated.append(name)
    count = 2 if stream.chance(0.3, "pod: two generated claims") else 1
    if stream.chance(0.015, "pod: a hundred generated claims"):
        count = MANY
    source = {"resourceClaimTemplateName": world_fixtures.TEMPLATE}
    entries = [{"name": f"{name}-{index}", **source} for index in range(count)]
    return _pod(stream, supply, name, found, entries, needs=(template,))


def has_many_claims(pod: Object) -> bool:
    return len(pod["spec"].get("resourceClaims", ())) >= MANY


def is_extended(pod: Object) -> bool:
    """Return whether a pod asks for extended resources."""
    return "resources" in pod["spec"]["containers"][0]


def _pod(
    stream: Stream,
    supply: device_drawing.Supply,
    name: str,
    found: Users,
    entries: Sequence[Object],
    needs: tuple[str, ...] = (),
) -> parts.Part:
    """Return a pod with these claims; without any, it asks for the extended resource."""
    document = world_fixtures.pod(name, *["none"] * len(entries))
    if entries:
        document["spec"]["resourceClaims"] = list(entries)
    if len(supply.nodes) > 1 and stream.chance(0.4, "pod: node selector"):
        document["spec"]["nodeSelector"] = {"node": stream.one_of(supply.nodes)}
    when = parts.BEGIN
    if found.pods:
        others = [(parts.BEGIN, 6.0), (parts.AT_REST, 1.5), (parts.ANY_TIME, 0.5)]
        first = next((part for part in found.others if part.kind == "claim"), None)
        if first is not None and first.documents[0]["kind"] == apis.CLAIMS.kind:
            others.append((f"allocated {first.name}", 2.0))
        when = stream.weighted(others)
        stream.note(f"pod: comes {when.partition(' ')[0]}")
    return parts.Part(name=name, kind="pod", documents=(document,), needs=needs, when=when)


def _of_two_schedulers(stream: Stream, supply: device_drawing.Supply) -> Users:
    """Draw pods of two schedulers that share the only claim: one of them allocates it."""
    found = Users()
    shared = _claim("claim-shared", claim_drawing.asked(stream, supply))
    second = parts.Part(name=parts.SECOND_SCHEDULER, kind="actor")
    found.others += [shared, second]
    for number in range(1, stream.number(2, 3) + 1):
        pod = _with_claims(stream, supply, f"pod-{number}", found, [shared.name])
        if number % 2 == 0:
            [document] = pod.documents
            document["spec"]["schedulerName"] = world_fixtures.OTHER_SCHEDULER
            pod = dataclasses.replace(pod, needs=(*pod.needs, second.name))
        found.pods.append(pod)
    return found
