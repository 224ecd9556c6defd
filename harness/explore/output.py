"""An explored run as a story, as a test, and as a run directory for the usual checks and report.

The observations of a run directory are the store's commits themselves, so none can be missing. As
virtual time hardly passes, steps are numbered instead, one millisecond each, which leaves room in
the drawings.
"""

import pathlib
import secrets
from collections.abc import Iterator, Sequence

import msgspec

from harness import clocks, writing
from harness.apiserver.storage import watch_cache
from harness.explore.search import explored_run, tokens
from harness.history import directories, journal_writer, manifests, plans, records, subject_names
from harness.report.causes import step_sentences

_TEMPLATE = '''"""{finding}

{story}
"""

from harness import api

TOKEN = "{token}"


def test_no_device_is_given_to_two_claims() -> None:
    assert not api.replay(TOKEN)


def test_without_the_defects_it_is_not() -> None:
    assert not api.replay(TOKEN, defects=[])
'''


def pytest_file(token: tokens.Token, finding: str, story: list[str]) -> str:
    """Return a test that fails while the run has a finding.

    If the token has defects, a second test passes if these cause the finding.
    """
    lines = "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(story, start=1))
    text = _TEMPLATE.format(finding=finding.capitalize(), story=lines, token=token)
    if token.defects:
        return text
    return text.partition("\n\ndef test_without_the_defects")[0] + "\n"


RESOURCES = ["resourceclaims", "pods", "resourceslices"]
"""Resources whose commits are saved."""
_STEP_NS = 1_000_000
"""Time between two steps, in nanoseconds."""


def save(
    path: pathlib.Path, token: tokens.Token, run: explored_run.ExploredRun
) -> directories.RunDirectory:
    """Create a run directory for a recorded run.

    Raises RunDirectoryError if the directory exists.
    """
    directory = directories.create(path)
    run_id = secrets.token_hex(4)
    writing.replace(directory.scenario, f"# explored: {token}\n".encode())
    plans.write(directory.plan, _plan(token, run_id))
    for file, process, bodies in (
        (directory.processes, "explore", _phases(run)),
        (directory.observations, "recorder", _observations(run.commits)),
        (directory.steps("scheduler"), "scheduler", _steps(run)),
    ):
        writer = journal_writer.Writer(file, process=process, run_id=run_id)
        for body in bodies:
            writer.write(body)
        writer.close()
    manifests.write(directory, run_id=run_id)
    return directory


def _plan(token: tokens.Token, run_id: str) -> plans.Plan:
    return plans.Plan(
        run_id=run_id,
        scenario=token.scenario,
        seed=0,
        subject=subject_names.EXPLORED,
        defects=list(token.defects),
        remedies=list(token.remedies),
        cluster="none: the store itself",
        namespace="default",
        boot_id=clocks.boot_id(),
        created_wall_ns=clocks.wall_ns(),
        until_found=True,
        requirements=plans.Requirements(allocations_min=1, pods_running_min=0),
        expected_operations=[],
        expected_steps=["scheduler"],
        expects_manifest=True,
        resources=RESOURCES,
        settings={"token": str(token), "world": repr(token.spec)},
        versions={},
    )


def _phases(run: explored_run.ExploredRun) -> Iterator[records.Body]:
    yield records.Phase(name="explored", ts_ns=0, detail=run.finding or "nothing found")
    yield records.Phase(name="ended", ts_ns=len(run.steps) * _STEP_NS)


def _observations(commits: Sequence[tuple[int, watch_cache.Commit]]) -> Iterator[records.Body]:
    for resource in RESOURCES:
        yield _listed(resource, "first", 0, 0)
    for step, commit in commits:
        if commit.resource.plural in RESOURCES:
            yield _observation(commit, commit.type, step * _STEP_NS)
    version = commits[-1][1].object.resource_version if commits else 0
    for resource in RESOURCES:
        last = {it.object.uid: it for _, it in commits if it.resource.plural == resource}
        live = [commit for commit in last.values() if commit.type != "DELETED"]
        yield _listed(resource, "final", version, len(live))
        yield from (_observation(commit, "FINAL", 0) for commit in live)


def _listed(resource: str, purpose: str, version: int, count: int) -> records.Listed:
    return records.Listed(
        resource=resource,
        purpose=purpose,  # type: ignore[arg-type]
        resource_version=version,
        count=count,
        ts_ns=0,
    )


def _observation(commit: watch_cache.Commit, kind: str, ts_ns: int) -> records.Observation:
    return records.Observation(
        resource=commit.resource.plural,
        type=kind,  # type: ignore[arg-type]
        resource_version=commit.object.resource_version,
        ts_ns=ts_ns,
        object=msgspec.Raw(commit.object.data),
    )


def _steps(run: explored_run.ExploredRun) -> Iterator[records.Body]:
    for number, step in enumerate(run.steps):
        ts_ns = number * _STEP_NS
        yield records.Step(
            seq=number, ts_ns=ts_ns, thread=step.task, name=step.name, fields=step.fields
        )


def step_lines(
    steps: Sequence[explored_run.RunStep], names: step_sentences.Names, finding: str
) -> list[str]:
    """Return one sentence for each step that has a phrase, and the finding as the last one."""
    sentences = [
        step_sentences.sentence(step.task, step.name, step.fields, names)
        for step in steps
        if step_sentences.has_sentence(step.name, step.fields)
    ]
    return [*sentences, f"therefore {finding}"]
