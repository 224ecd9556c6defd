"""The checks of what results say: each device once, admin access, shares, and copies.

The API promises (resource.k8s.io/v1) that a device can be allocated more than once only "if
AllowMultipleAllocations is set to true" (Device.allowMultipleAllocations), and that each of its
shares has an ID of its own: "ShareID uniquely identifies an individual allocation share of the
device" (DeviceRequestAllocationResult.shareID). `device_exclusivity` compares claims with each
other; here the results of one claim are compared. With admin access, too, a claim gets a device
only once (kubernetes#131269).

"AdminAccess indicates that this device was allocated for administrative access. See the
corresponding request field for a definition of mode" (adminAccess). A result with admin access that
no request asks for would hide a double allocation, because `device_exclusivity` ignores it.

Consumed capacity "is populated only for devices that allow multiple allocations. All capacity
entries are included", and "it is rounded up to the nearest valid value based on the device's
requestPolicy" (consumedCapacity). So it is computed (`capacities`), and compared. A request for
capacity is "an additional filtering condition against the available capacity on the device"
(CapacityRequirements.requests), for devices that cannot be shared, too. With admin access, which
consumes nothing, share and consumed capacity may be missing.

"Tolerations is a copy of all tolerations specified in the request at the time when the device got
allocated", binding conditions are "a copy of the BindingConditions from the corresponding
ResourceSlice at the time of allocation", and the configuration (DeviceAllocationResult.config) "is
a combination of all the claim and class configuration parameters". It is compared for each request
that got devices, as its driver reads it: that of the class comes first. An entry of the claim comes
no more often than the claim has it.

A result is wrong if it is so with every version of slice and class up to the allocation.
"""

import collections
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from harness.checks.devices import allocation_judging, capacities, device_catalogue
from harness.checks.observed import observations, observed_claims
from harness.model import quantities


def _ask_distinct(case: allocation_judging.Case) -> allocation_judging.Wrong | None:
    results = case.grant.results
    if len(results) < 2:
        return None
    by_device: dict[str, list[observed_claims.AllocationResult]] = collections.defaultdict(list)
    for result in results:
        by_device[result.id].append(result)
    return allocation_judging.wrong(
        f"{device} was given to it {len(items)} times, for "
        + " and ".join(f"request {item.request}" for item in items)
        for device, items in by_device.items()
        if _is_double(items)
    )


def _is_double(items: list[observed_claims.AllocationResult]) -> bool:
    shares = {item.share for item in items if item.share and not item.admin_access}
    return len(items) > 1 and len(shares) < len(items)


DISTINCT_DEVICES = allocation_judging.of_each(
    name="distinct_devices",
    guarantee="X",
    promise="no device is allocated twice to one claim, except in shares with different IDs",
    good="no claim has a device twice",
    answers=allocation_judging.asking(_ask_distinct),
)


# -------------------------------------------------------------------------- admin access
def _ask_access(case: allocation_judging.Case) -> allocation_judging.Wrong | None:
    options = allocation_judging.chosen(case.grant)
    return allocation_judging.wrong(
        f"{result.id} was given {'with' if result.admin_access else 'without'} admin access, "
        f"which request {result.request} {'does not ask' if result.admin_access else 'asks'} for"
        for result in case.grant.results
        if bool(result.admin_access) is not bool(options[result.request].admin_access)
    )


GRANTED_ACCESS = allocation_judging.of_each(
    name="granted_access",
    guarantee="N",
    promise="a device is allocated with admin access exactly if its request asks for that",
    good="admin access is where it was asked for, and nowhere else",
    answers=allocation_judging.asking(_ask_access),
)


# -------------------------------------------------------------------------------- shares
def _ask_shares(case: allocation_judging.Case) -> allocation_judging.Wrong | None:
    wrong = []
    for result in case.grant.results:
        asked, known = case.grant.spec.option(result.request), case.known(result.id)
        try:
            problems = [_problem(result, asked, device) for device in known]
        except (quantities.QuantityError, capacities.AmbiguousNamesError) as error:
            raise allocation_judging.Unjudged(str(error)) from error
        if all(problems):
            wrong.append(f"{result.id} {problems[-1]}")
    return allocation_judging.wrong(wrong)


def _problem(
    result: observed_claims.AllocationResult,
    asked: observed_claims.ExactRequest | None,
    known: device_catalogue.KnownDevice,
) -> str:
    is_shareable = bool(known.device.allow_multiple_allocations)
    if result.share and not is_shareable:
        return "was allocated in a share, but no slice offers it for sharing"
    if result.consumed_capacity and not result.share:
        return "was allocated with consumed capacity, but not in a share"
    if is_shareable and not result.share and not result.admin_access:
        return "can be shared, but was allocated without a share ID"
    return "" if asked is None else next(_of_amounts(result, asked, known), "")


def _of_amounts(
    result: observed_claims.AllocationResult,
    asked: observed_claims.ExactRequest,
    known: device_catalogue.KnownDevice,
) -> Iterator[str]:
    driver = known.driver
    takes = capacities.of_device(known.device, driver, asked.quantities)
    for name, text in capacities.by_plain_name(asked.quantities, driver).items():
        if name not in takes:
            yield f"lacks the capacity {name}, of which {text} was asked for"
        elif takes[name].refusal:
            yield f"cannot be allocated: of {name}, the request {takes[name].refusal}"
    if not result.share or (result.admin_access and not result.consumed_capacity):
        return
    consumed = capacities.by_plain_name(result.consumed_capacity or {}, driver)
    for name in sorted(consumed.keys() - takes.keys()):
        yield f"consumes {name}, a capacity that it lacks"
    for name, taken in takes.items():
        expected = " or ".join(map(quantities.text, sorted(taken.amounts)))
        if taken.refusal:
            yield f"cannot be allocated: of {name}, the request {taken.refusal}"
        elif name not in consumed:
            yield f"consumes no {name} instead of {expected}"
        elif quantities.amount(consumed[name]) not in taken.amounts:
            yield f"consumes {consumed[name]} {name} instead of {expected}"


GRANTED_SHARES = allocation_judging.of_each(
    name="granted_shares",
    guarantee="N",
    promise=(
        "devices that can be shared, and no others, are shared, and as much is consumed as follows"
    ),
    good="all shares are of devices that can be shared, and consume what they should",
    rests_on=(observations.SLICES,),
    answers=allocation_judging.asking(_ask_shares),
)


# -------------------------------------------------------------------------------- copies
TOLD_MAX = 120
"""Characters of a value in a message."""
_Entry: TypeAlias = tuple[str, observed_claims.Opaque]
"""Source and content of a configuration."""


def _ask_copies(case: allocation_judging.Case) -> allocation_judging.Wrong | None:
    grant, wrong = case.grant, list[str]()
    options = allocation_judging.chosen(grant)
    for result in grant.results:
        wrong += _of_result(result, options[result.request], case.known(result.id))
    for name, wanted in options.items():
        configs = case.catalogue.configs(wanted.device_class_name, case.version)
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
    grant: allocation_judging.Grant, name: str, configs: Sequence[Sequence[observed_claims.Config]]
) -> Iterator[str]:
    of_claim = [("FromClaim", item) for item in grant.spec.config or ()]
    got = _applying([(item.source, item) for item in grant.allocation.devices.config or ()], name)
    expected = [
        _applying([*(("FromClass", item) for item in one), *of_claim], name) for one in configs
    ]
    if got not in expected:
        yield _told(f"request {name} got the configuration", got, expected[-1])


def _repeated(grant: allocation_judging.Grant) -> Iterator[str]:
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


COPIED_RESULTS = allocation_judging.of_each(
    name="copied_results",
    guarantee="N",
    promise="tolerations, binding conditions and configuration of a result are those it is made from",
    good="all results repeat what they are made from",
    rests_on=(observations.SLICES, observations.CLASSES),
    answers=allocation_judging.asking(_ask_copies),
)
