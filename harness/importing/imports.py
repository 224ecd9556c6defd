"""Imports files as the folder of a scenario: the entry of this package."""

import dataclasses
import pathlib
import re
from collections.abc import Sequence

from harness import errors
from harness.importing import (
    checking,
    folders,
    materials,
    redaction,
    workload_sets,
)
from harness.manifests import reading
from harness.run import run_plan
from harness.scenario import loading

SCENARIO = "scenario.toml"
_NO_NAME = re.compile(r"[^a-z0-9]+")
_NAME_CHARACTERS_MAX = 40


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The outcome of an import."""

    files: Sequence[pathlib.Path]
    notes: Sequence[str]
    """Sentences about what was left out or added."""


def from_files(files: Sequence[pathlib.Path]) -> materials.Materials:
    found = materials.Materials()
    manifests = reading.read([str(path) for path in files], keeps_owners=True)
    found.add(checking.checked(manifests, found.notes))
    return found


def write(found: materials.Materials, folder: pathlib.Path, *, redacted: bool = False) -> Imported:
    """Write the folder of a scenario and return its files.

    Raises UsageError if there are no slices or the folder exists, ScenarioError if a run could not
    use what was found; then nothing is written.
    """
    if not any(obj["spec"].get("devices") for obj in found.slices):
        raise errors.UsageError(
            "expected ResourceSlices with devices, got none: name files that have some (`kubectl get resourceslices "
            "-o yaml`)"
        )
    with folders.drafted(folder) as draft:
        files = _files(found, _name(folder), redacted=redacted)
        folders.write(draft, files)
        try:
            run_plan.plan(loading.load(str(draft / SCENARIO)), seed=1)
        except errors.UsageError as error:
            said = str(error).replace(str(draft), str(folder))
            raise errors.ScenarioError(
                f"what was found makes no scenario that runs: {said}"
            ) from error
    return Imported(files=[folder / file for file in files], notes=found.notes.lines)


def _files(found: materials.Materials, name: str, *, redacted: bool) -> folders.Files:
    found.complete()
    sets = workload_sets.divide(found)
    if not sets:
        raise errors.UsageError(
            "expected a workload, template, claim or class that can be used, got none: "
            + "; ".join(found.notes.lines)
        )
    redact = redaction.redacted if redacted else redaction.without_secrets
    found, sets = redact(found, sets)
    pools = folders.manifests("slices", [*found.nodes, *found.slices])
    pools |= folders.manifests("classes", [*found.classes, *found.rules])
    objects: folders.Files = {}
    for one in sets:
        objects |= folders.manifests(one.name.replace("/", "-"), one.objects)
    text = folders.text(name, found, sets, list(pools), list(objects))
    return {SCENARIO: text.encode(), **pools, **objects}


def _name(folder: pathlib.Path) -> str:
    plain = _NO_NAME.sub("-", folder.absolute().name.lower()).strip("-")[:_NAME_CHARACTERS_MAX]
    return plain.strip("-") or "imported"
