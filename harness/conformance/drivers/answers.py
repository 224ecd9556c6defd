"""The answer of a driver about a claim, beside what the claim was allocated."""

from collections.abc import Mapping, Sequence

from harness.cluster.kubelet_api import preparations
from harness.conformance import results
from harness.conformance.drivers import benches, claim_documents, driver_calls

Entries = Mapping[str, driver_calls.Entry]
"""uid of a claim -> its entry."""


def require_devices(entries: Entries) -> None:
    """Raise Skipped if no claim got a device: a driver may give them by other ways, as NRI."""
    if not any(entries.values()):
        raise results.Skipped("the driver answers without devices, which is allowed")


def require_own(claims: Sequence[benches.Claim], entries: Entries, when: str = "") -> None:
    """Raise Failed unless each claim has its own devices, for its own requests.

    Without any device at all they are right, too.
    """
    if all(entries.get(claim.uid) == () for claim in claims):
        return
    for claim in claims:
        entry = entries.get(claim.uid)
        wrong = (
            wrong_devices(claim, entry) or wrong_requests(claim, entry)
            if isinstance(entry, tuple)
            else f"is not prepared: {entry}"
        )
        if wrong:
            beside = f"among {len(claims)} claims, one" if len(claims) > 1 else "the claim"
            raise results.Failed(f"{beside} {wrong}{when and ' ' + when}")


def devices(entries: Entries, claim: benches.Claim) -> preparations.Prepared:
    """Return the devices of a claim in an answer; none of an error."""
    entry = entries.get(claim.uid)
    return entry if isinstance(entry, tuple) else ()


def wrong_devices(claim: benches.Claim, entry: preparations.Prepared) -> str:
    wanted = sorted({(row["pool"], row["device"]) for row in claim.rows})
    found = sorted({(device.pool, device.device) for device in entry})
    shares = {row.get("shareID") for row in claim.rows}
    if found != wanted:
        return f"was allocated {wanted}, and the answer has {found}"
    for device in entry:
        if device.share_id is not None and device.share_id not in shares:
            return f"was allocated the shares {sorted(map(str, shares))}, and the answer has {device.share_id}"
    return ""


def wrong_requests(claim: benches.Claim, entry: preparations.Prepared) -> str:
    """Return what is wrong with the request names of an answer, as part of a sentence."""
    rows = {
        (row["pool"], row["device"], claim_documents.base(row["request"])) for row in claim.rows
    }
    for device in entry:
        own = {name for pool, found, name in rows if (pool, found) == (device.pool, device.device)}
        if not own.issuperset(device.request_names):
            return (
                f"was allocated {device.device} for {sorted(own)}, and the answer names the "
                f"requests {list(device.request_names)}"
            )
    for pool, name, request in sorted(rows):
        named = [item.request_names for item in entry if (item.pool, item.device) == (pool, name)]
        if named and not any(request in names or not names for names in named):
            return f"was allocated {name} for {request}, which the answer does not name"
    return ""
