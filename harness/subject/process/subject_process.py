"""The scheduler and the claim controller as stand-alone processes, until SIGTERM or Ctrl-C."""

import contextlib
import dataclasses
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Annotated, Protocol

import msgspec

from harness import concurrency, errors, processes, regular_files, seeds
from harness.client import apis, transports
from harness.subject import assembling
from harness.subject.allocation import allocators
from harness.subject.claim_control import claim_controllers
from harness.subject.leadership import leader_election
from harness.subject.plugin import binding_conditions, claim_binding
from harness.subject.process import elected_runs, recording, write_journal
from harness.subject.scheduling import node_search, schedulers
from harness.subject.telemetry import klog, pod_reports
from harness.threads import step_holding

_Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class Pauses(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seeded random pauses at named steps."""

    probability: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """Probability of a pause at each step; 0: none."""
    pause_s_max: _Seconds = 0.005
    """Maximum length of a pause, in seconds."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings file (JSON)."""

    seed: int = 0
    run_id: str = ""
    user_agent: str = transports.USER_AGENT
    """User-Agent of the API calls, and so the field manager of what they write."""
    switch_interval_s: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Argument of `sys.setswitchinterval`, in seconds; None keeps CPython's default."""
    binders: Annotated[int, msgspec.Meta(ge=0, le=1024)] = 0
    """Number of pods that may be bound at the same time; 0: any number, as upstream."""
    reserve_by: claim_binding.ReserveBy = "update"
    binding_timeout_s: _Seconds = binding_conditions.TIMEOUT_S
    backoff_initial_s: _Seconds = 1.0
    backoff_max_s: _Seconds = 10.0
    filter_timeout_s: _Seconds = allocators.FILTER_TIMEOUT_S
    """Time limit for the search for devices on one node, in seconds; 0: none."""
    parallelism: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 1
    lists_cached: bool = False
    evicts: bool = False
    """Of the claim controller: evict pods by NoExecute taints of their devices."""
    pauses: Pauses = Pauses()
    lease: leader_election.LeaseTimes = leader_election.LeaseTimes()
    """Used only with `--leader-elect`."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOptions:
    """Options of a subject process."""

    kubeconfig: pathlib.Path
    scheduler_name: str = "flake-hunt"
    namespace: str | None = None
    """None: all namespaces."""
    defects: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    leader_elect: bool = False
    """Schedule only while holding the Lease that is named after the scheduler."""
    settings: pathlib.Path | None = None
    """The settings file; None: the defaults."""
    steps: pathlib.Path | None = None
    """The steps file to write; None: steps are not recorded."""
    threads: pathlib.Path | None = None
    """A socket at which threads can be held at named steps; None: they are not."""
    operations: pathlib.Path | None = None
    """The journal of the writes to make; None: they are not journaled."""
    ready_file: pathlib.Path | None = None
    """A file to create once the process is ready."""
    filter_timeout_s: _Seconds | None = None
    """Overrides the one of the settings; None: it does not."""
    release: str | None = None
    """The release of Kubernetes to be like; None: the default."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=1000)] = claim_controllers.WORKERS
    """Number of the claim controller's workers."""
    reserve_by: claim_binding.ReserveBy | None = None
    """How the scheduler reserves claims that have an allocation; None: as the settings say."""
    binding_timeout_s: _Seconds | None = None
    """Seconds in which allocated devices have to be ready; None: as the settings say."""
    verbosity: int = 0
    """Verbosity of the scheduler's log on stderr, as of klog; 0: none."""
    logging_format: klog.Form = "text"


_OVERRIDING = ("reserve_by", "binding_timeout_s", "filter_timeout_s")
"""The options that override the settings."""


class _Part(Protocol):
    def start(self) -> None: ...

    def stop(self) -> None: ...


def run_scheduler(options: SubjectOptions) -> int:
    """Run the scheduler until SIGTERM or Ctrl-C.

    With leader election it ends the process with LOST_LEASE_CODE when it loses its lease. Raises
    UsageError for unusable options, and ClusterError if the API server does not answer.
    """
    given = {key: getattr(options, key) for key in _OVERRIDING}
    chosen = {key: value for key, value in given.items() if value is not None}
    settings = msgspec.structs.replace(read_settings(options.settings), **chosen)
    parts = assembling.parts(options.defects, options.remedies, options.release)
    more: list[concurrency.StepListener] = []
    if options.verbosity:
        # The scheduler is made later, after its steps have a listener.
        more.append(klog.KlogLines(objects=lambda: scheduler.known_objects()))  # noqa: PLW0108
        form = options.logging_format
        klog.use(klog.Logger(options.verbosity, form, write=lambda it: os.write(2, it.encode())))
    with (
        _api("scheduler", options, settings) as api,
        _listening("scheduler", options, settings, *more),
    ):
        scheduler = schedulers.Scheduler(
            api,
            schedulers.SchedulerOptions(
                scheduler_name=options.scheduler_name,
                namespace=options.namespace,
                binders=settings.binders,
                reserve_by=settings.reserve_by,
                binding_timeout_s=settings.binding_timeout_s,
                backoff_initial_s=settings.backoff_initial_s,
                backoff_max_s=settings.backoff_max_s,
                search=node_search.SearchOptions(parallelism=settings.parallelism),
                filter_timeout_s=settings.filter_timeout_s,
                lists_cached=settings.lists_cached,
                seed=settings.seed,
                taint_rules=True,
                pod_groups=True,
            ),
            parts,
            pod_reports.PodReports(api),
        )
        if options.leader_elect:
            elector = elected_runs.elector(
                api,
                settings.lease,
                namespace=options.namespace,
                scheduler_name=options.scheduler_name,
                seed=settings.seed,
            )
            elected_runs.run(scheduler, elector, lambda: _touch_ready(options))
        else:
            _run(scheduler, options)
    return 0


def run_claim_controller(options: SubjectOptions) -> int:
    settings = read_settings(options.settings)
    parts = assembling.claim_controller_parts(options.defects, options.remedies, options.release)
    chosen = claim_controllers.ControllerOptions(
        namespace=options.namespace,
        workers=options.workers,
        pod_groups=True,
        evicts=settings.evicts,
    )
    with (
        _api("claim-controller", options, settings) as api,
        _listening("claim-controller", options, settings),
    ):
        controller = claim_controllers.ClaimController(api, chosen, parts)
        _run(controller, options)
    return 0


def read_settings(path: pathlib.Path | None) -> Settings:
    """Read the settings file; None: the defaults. Raises UsageError."""
    if path is None:
        return Settings()
    try:
        return msgspec.json.decode(regular_files.content(path), type=Settings)
    except (OSError, msgspec.DecodeError) as error:
        raise errors.UsageError(f"{path}: expected a settings file in JSON ({error})") from error


def _run(part: _Part, options: SubjectOptions) -> None:
    stopped = processes.StopEvent()
    part.start()
    _touch_ready(options)
    stopped.wait()
    part.stop()


def _touch_ready(options: SubjectOptions) -> None:
    if options.ready_file is not None:
        processes.touch_ready(options.ready_file)


@contextlib.contextmanager
def _api(process: str, options: SubjectOptions, settings: Settings) -> Iterator[apis.Api]:
    transport = transports.connect(options.kubeconfig, user_agent=settings.user_agent)
    with contextlib.closing(transport):
        if options.operations is None:
            yield apis.Api(transport)
            return
        journal = write_journal.WriteJournal(
            options.operations, process=process, run_id=settings.run_id
        )
        try:
            yield apis.Api(write_journal.JournaledTransport(transport, journal))
        finally:
            journal.close()


@contextlib.contextmanager
def _listening(
    process: str, options: SubjectOptions, settings: Settings, *more: concurrency.StepListener
) -> Iterator[None]:
    """Record the steps, pause at them, and set the switch interval, as the settings say."""
    processes.end_on_thread_failure(f"flake-hunt {process}")
    if settings.switch_interval_s is not None:
        sys.setswitchinterval(settings.switch_interval_s)
    recorder = None
    listeners = list(more)
    if options.steps is not None:
        recorder = recording.StepRecorder(options.steps, process=process, run_id=settings.run_id)
        listeners.append(recorder)
    if options.threads is not None:
        listeners.append(step_holding.StepHolder(options.threads))
    if settings.pauses.probability:
        stream = seeds.Seeds(settings.seed).stream("pauses", process)
        probability, pause_s_max = settings.pauses.probability, settings.pauses.pause_s_max
        listeners.append(
            concurrency.pausing(stream=stream, probability=probability, pause_s_max=pause_s_max)
        )
    concurrency.listen(concurrency.fan_out(*listeners) if listeners else None)
    try:
        yield
    finally:
        concurrency.listen(None)
        if recorder is not None:
            recorder.close()
