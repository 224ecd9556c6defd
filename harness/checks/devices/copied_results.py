"""The check of copies: what an allocation repeats of its claim, its classes and its devices.

The API promises (resource.k8s.io/v1, DeviceRequestAllocationResult): "Tolerations is a copy of all
tolerations specified in the request at the time when the device got allocated" (tolerations), and
"a copy of the BindingConditions from the corresponding ResourceSlice at the time of allocation"
(bindingConditions; bindingFailureConditions likewise). And (DeviceAllocationResult.config): it "is
a combination of all the claim and class configuration parameters. Drivers can distinguish between
those based on a flag", and it "lists the names of requests where the configuration applies".

Configuration is compared for each request that got devices, as its driver reads it: that of the
class comes first. An entry of the claim comes no more often than the claim has it. A copy is wrong
if it is so with every version of the slice and of the class up to the allocation.
"""

import collections
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from harness.checks.devices import allocation_judging, allocations, device_catalogue
from harness.checks.observed import observations, observed_claims

TOLD_MAX = 120
"""Characters of a value in a message."""
_Entry: TypeAlias = tuple[str, observed_claims.Opaque]
"""Source and content of a configuration."""


def _ask(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Wrong | None:
    options, wrong = allocation_judging.chosen(grant), list[str]()
    for result in grant.results:
        known = allocation_judging.known(result.id, catalogue, version)
        wrong += _of_result(result, options[result.request], known)
    for name, wanted in options.items():
        configs = catalogue.configs(wanted.device_class_name, version)
        if not configs:
            raise allocation_judging.Unjudged("the class of a request was not observed")
        wrong += _of_config(grant, name, configs)
    wrong += _repeated(grant)
    return allocation_judging.wrong(wrong)


def _of_result(
    result: observed_claims.AllocationResult,
    wanted: observed_claims.ExactRequest,
    known: Sequence[device_catalogue.KnownDevice],
) -> Iterator[str]:
    got = [*map(_plain, result.tolerations or ())]
    expected = [*map(_plain, wanted.tolerations or ())]
    if got != expected:
        yield _told(f"{result.id} got the tolerations", got, expected)
    conditions = result.binding_conditions or [], result.binding_failure_conditions or []
    published = [
        (item.device.binding_conditions or [], item.device.binding_failure_conditions or [])
        for item in known
    ]
    if conditions not in published:
        words = f"{result.id} got the binding conditions, and those of failures,"
        yield _told(words, conditions, published[-1])


def _plain(toleration: dict[str, Any]) -> dict[str, Any]:
    """Return a toleration with its default, and without fields that are empty."""
    filled = {key: value for key, value in toleration.items() if value not in (None, "")}
    return {"operator": "Equal", **filled}


def _of_config(
    grant: allocations.Grant, name: str, configs: Sequence[Sequence[observed_claims.Config]]
) -> Iterator[str]:
    of_claim = [("FromClaim", item) for item in grant.spec.config or ()]
    got = _applying([(item.source, item) for item in grant.allocation.devices.config or ()], name)
    expected = [
        _applying([*(("FromClass", item) for item in one), *of_claim], name) for one in configs
    ]
    if got not in expected:
        yield _told(f"request {name} got the configuration", got, expected[-1])


def _repeated(grant: allocations.Grant) -> Iterator[str]:
    """Yield which configuration of the claim the allocation has too often."""
    copied = (item for item in grant.allocation.devices.config or () if item.source == "FromClaim")
    got, known = (
        collections.Counter(msgspec.json.encode((item.requests, item.opaque)) for item in items)
        for items in (copied, grant.spec.config or ())
    )
    for entry, count in got.items():
        if count > known[entry] > 0:
            text = entry.decode()[:TOLD_MAX]
            yield f"the claim's configuration {text} comes {count} times instead of {known[entry]}"


def _applying(entries: Iterable[tuple[str, observed_claims.Config]], name: str) -> list[_Entry]:
    """Return the entries for a request, or for an alternative of it."""
    names = {name.partition("/")[0], name}
    found: list[_Entry] = []
    for source, item in entries:
        applies_to = names.intersection(item.requests) if item.requests else names
        if applies_to and (source, item.opaque) not in found:
            found.append((source, item.opaque))
    return found


def _told(words: str, got: object, expected: object) -> str:
    texts = [msgspec.json.encode(value).decode() for value in (got, expected)]
    short = [text[:TOLD_MAX] + "…" * (len(text) > TOLD_MAX) for text in texts]
    return f"{words} {' instead of '.join(short)}"


CHECK = allocation_judging.of_each(
    name="copied_results",
    guarantee="N",
    promise="tolerations, binding conditions and configuration of a result are those it is made from",
    good="all results repeat what they are made from",
    rests_on=(observations.SLICES, observations.CLASSES),
    ask=_ask,
)
