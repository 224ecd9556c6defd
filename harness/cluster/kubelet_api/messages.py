"""Turns the words of `preparations` into messages of either version, and back.

The kubelet's side uses `request`, `prepared` and `unprepared`, the driver's `references`,
`prepare_answer` and `unprepare_answer`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from harness.cluster.kubelet_api import preparations, services

_REASON = re.compile(r"([A-Z][A-Za-z]+): (.+)", re.DOTALL)
"""Text of an error that begins with a reason, as those of our driver do."""


def request(method: services.Method, claims: Iterable[preparations.ClaimReference]) -> Any:
    made: Any = method.request()
    for claim in claims:
        made.claims.add(namespace=claim.namespace, name=claim.name, uid=claim.uid)
    return made


def references(asked: Any) -> list[preparations.ClaimReference]:
    return [
        preparations.ClaimReference(claim.namespace, claim.name, claim.uid)
        for claim in asked.claims
    ]


def prepare_answer(
    service: services.DraService,
    results: Mapping[str, preparations.Prepared | preparations.PreparationError],
) -> Any:
    made: Any = service.prepare.answer()
    for uid, result in results.items():
        entry = made.claims[uid]
        if isinstance(result, preparations.PreparationError):
            entry.error = _text(result)
        else:
            entry.devices.extend(_device(service, device) for device in result)
    return made


def unprepare_answer(
    service: services.DraService, results: Mapping[str, preparations.PreparationError | None]
) -> Any:
    made: Any = service.unprepare.answer()
    for uid, error in results.items():
        made.claims[uid].error = "" if error is None else _text(error)
    return made


def prepared(
    answer: Any,
) -> dict[str, preparations.Prepared | preparations.PreparationError]:
    return {
        uid: _error(entry.error) if entry.error else tuple(map(_read, entry.devices))
        for uid, entry in answer.claims.items()
    }


def unprepared(answer: Any) -> dict[str, preparations.PreparationError | None]:
    return {
        uid: _error(entry.error) if entry.error else None for uid, entry in answer.claims.items()
    }


def _text(error: preparations.PreparationError) -> str:
    """Return the text of an error, with its reason; never empty: that would be a success."""
    if error.reason == preparations.DRIVER_ERROR or not str(error):
        return str(error) or error.reason
    return f"{error.reason}: {error}"


def _error(text: str) -> preparations.PreparationError:
    found = _REASON.fullmatch(text)
    return preparations.PreparationError(
        *(found.groups() if found else (preparations.DRIVER_ERROR, text))
    )


def _device(service: services.DraService, device: preparations.PreparedDevice) -> Any:
    made: Any = services.DEVICE(
        request_names=device.request_names,
        pool_name=device.pool,
        device_name=device.device,
        cdi_device_ids=device.cdi_device_ids,
    )
    if device.share_id is not None and service.has_shares:
        made.share_id = device.share_id
    return made


def _read(device: Any) -> preparations.PreparedDevice:
    return preparations.PreparedDevice(
        request_names=tuple(device.request_names),
        pool=device.pool_name,
        device=device.device_name,
        cdi_device_ids=tuple(device.cdi_device_ids),
        share_id=device.share_id if device.HasField("share_id") else None,
    )
