"""Run directories with an audit log, to be doctored: UNKNOWN because of the log alone, or INVALID.

The observations are those of a sound run whose cluster has dense revisions. The log makes the run
UNKNOWN: it lacks a write, has another one, or ends too early.
"""

import gzip
import json
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from harness.checks import verdicts
from tests.histories import audit_logs, building, language, specimens

SOUND = "x:a y:b a+D1 a^x x>n x* b+D2 b^y y>m y* x$ a/x a-D1 a~ x~ c+D1"
DOUBLED = "x:a y:b a+D1 a^x x>n x* b+D1 b^y y>m y* c+D2"
LOG = "audit/audit.log"
PLAN = {"resources": [language.CLAIMS, language.PODS], "dense_revisions": True}
Event = dict[str, Any]
Change = Callable[[list[Event]], list[Event]]


def _without(index: int) -> Change:
    return lambda events: [*events[:index], *events[index + 1 :]]


def _without_object(name: str) -> Change:
    return lambda events: [event for event in events if event["objectRef"]["name"] != name]


def _with_another_device(events: list[Event]) -> list[Event]:
    return json.loads(json.dumps(events).replace('"D2"', '"D3"'))


def _with_another_node(events: list[Event]) -> list[Event]:
    return json.loads(json.dumps(events).replace('"nodeName": "m"', '"nodeName": "n"'))


def _without_bodies(events: list[Event]) -> list[Event]:
    return [
        {key: value for key, value in event.items() if key != "responseObject"}
        | {"level": "Metadata"}
        for event in events
    ]


CHANGES: dict[str, Change] = {
    "a write is missing": _without(6),
    "the last write is missing": lambda events: events[:-1],
    "the first writes are missing": lambda events: events[4:],
    "a claim is missing": _without_object("b"),
    "another device": _with_another_device,
    "another node": _with_another_node,
    "without bodies": _without_bodies,
}


def all_of_them() -> Iterator[specimens.Specimen]:
    """Yield the directories; the log of every other one is compressed, of some in two parts."""
    for index, (name, change) in enumerate(CHANGES.items()):
        files = _files(SOUND)
        del files[LOG]
        files |= _parts(change(audit_logs.events(SOUND)), form=index % 3)
        yield specimens.Specimen(f"audited/{name}", verdicts.Verdict.UNKNOWN, files)
    yield specimens.Specimen("audited/doubled", verdicts.Verdict.INVALID, _files(DOUBLED))


def _parts(events: list[Event], *, form: int) -> dict[str, bytes]:
    lines = [audit_logs.line(event) for event in events]
    match form:
        case 0:
            return {LOG: b"".join(lines)}
        case 1:
            half = len(lines) // 2
            old = "audit/audit-2026-11-22T15-00-00.000.log"
            return {old: b"".join(lines[:half]), LOG: b"".join(lines[half:])}
        case _:
            return {f"{LOG}.gz": gzip.compress(b"".join(lines), mtime=0)}


def _files(text: str) -> dict[str, bytes]:
    """The files of a sound run directory, without the manifest."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run"
        building.build(path, text, audited=True, changes=PLAN | {"expects_manifest": True})
        return {
            file.relative_to(path).as_posix(): file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
