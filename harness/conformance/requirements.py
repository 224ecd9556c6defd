"""Requirements of rules: of answers, of devices and of CDI files."""

from collections.abc import Mapping, Sequence

from harness.cluster.kubelet_api import preparations
from harness.conformance import benches, claim_documents, driver_instances, results

Entries = Mapping[str, driver_instances.Entry]
"""uid of a claim -> its entry."""


def require_devices(entries: Entries) -> None:
    """Raise Skipped if no claim got a device: a driver may give them by other ways, as NRI."""
    results.skip_unless(
        any(entries.values()), "the driver answers without devices, which is allowed"
    )


def require_own(claims: Sequence[benches.Claim], entries: Entries, when: str = "") -> None:
    """Raise Failed unless each claim has its own devices, for its own requests.

    Without any device at all they are right, too.
    """
    if all(entries.get(claim.uid) == () for claim in claims):
        return
    for claim in claims:
        entry = entries.get(claim.uid)
        wrong = f"is not prepared: {entry}"
        if isinstance(entry, tuple):
            wrong = wrong_devices(claim, entry) or wrong_requests(claim, entry)
        beside = f"among {len(claims)} claims, one" if len(claims) > 1 else "the claim"
        results.require(not wrong, f"{beside} {wrong}{when and ' ' + when}")


def devices(entries: Entries, claim: benches.Claim) -> preparations.Prepared:
    entry = entries.get(claim.uid)
    return entry if isinstance(entry, tuple) else ()


def ids(prepared: preparations.Prepared) -> list[str]:
    """Return the CDI ids of prepared devices. Raises Skipped if there are none."""
    found = [item for device in prepared for item in device.cdi_device_ids]
    results.skip_unless(found, "the driver answers without CDI ids, which is allowed")
    return found


def wrong_devices(claim: benches.Claim, entry: preparations.Prepared) -> str:
    """Return what is wrong with the devices of an answer, as part of a sentence."""
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


def require_defined(bench: benches.Bench, prepared: preparations.Prepared, when: str) -> None:
    for missing in bench.missing_ids(prepared):
        raise results.Failed(f"{when}, no CDI file defines {missing}")


def require_nothing(bench: benches.Bench, claim: benches.Claim, when: str) -> None:
    """Raise Failed if a claim has left CDI files, or has its devices still."""
    require_gone(bench, when)
    require_free(bench, claim, when)


def require_gone(bench: benches.Bench, when: str) -> None:
    """Raise Failed if there are other CDI files than before the rule."""
    for path in bench.left_files():
        raise results.Failed(f"{path.name} is left {when}")


def require_free(bench: benches.Bench, claim: benches.Claim, when: str) -> None:
    reason = bench.refusal(bench.claim(*claim.devices))
    results.require(not reason, f"the device {when} cannot be prepared for another claim: {reason}")


def require_exclusive(bench: benches.Bench, second: benches.Claim) -> None:
    """Raise Skipped if a driver prepares a claim whose device another one holds."""
    results.skip_unless(
        bench.refusal(second), "the driver does not refuse a device that another claim holds"
    )
