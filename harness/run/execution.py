"""The phases of a run on a cluster: fixtures, processes, waiting for the goal, tear-down."""

import contextlib
from collections.abc import Callable, Container, Iterator

from harness import clocks, errors, processes, writing
from harness.checks.progress import claim_progress, resource_leaks
from harness.client import apis, backoffs, informers, transports
from harness.cluster import cluster_records, interfaces, providers
from harness.cluster.fake_nodes import fake_world
from harness.history import directories, plans
from harness.model.objects import Object
from harness.run import (
    cluster_logs,
    goals,
    memory_sampling,
    progressing,
    run_processes,
    subjects,
    supervising,
)
from harness.run.faulting import fault_journal, injecting, injector
from harness.scenario import (
    imported_pools,
    possibility,
    profiles,
    script_specs,
    specs,
    subject_specs,
    traffic_specs,
)
from harness.traffic import launching, object_rounds, objects

SYNC_TIMEOUT_S = 30.0
REMOVE_TRIES, REMOVE_WAIT_S = 20, 1.0
"""Attempts to remove a run's objects while the API server does not answer, and the seconds
between them."""


class Execution:
    """The phases of one run, from an empty cluster to an empty cluster."""

    def __init__(
        self,
        plan: plans.Plan,
        scenario: specs.Scenario,
        directory: directories.RunDirectory,
        cluster: interfaces.Cluster,
        progress: progressing.Progress,
        *,
        deadline: progressing.Deadline,
    ) -> None:
        self._scenario, self._plan, self._directory = scenario, plan, directory
        self._cluster, self._progress, self._deadline = cluster, progress, deadline
        self._capabilities = providers.of(profiles.restore(plan.cluster_profile)).capabilities
        self._transport = transports.connect(cluster.kubeconfig.resolve())
        self._api = apis.Api(self._transport)
        self._supervisor = supervising.Supervisor(
            directory, run_id=plan.run_id, cluster=cluster.exit_report
        )
        self._processes = run_processes.RunProcesses(
            self._supervisor,
            plan,
            scenario,
            directory,
            cluster,
            protobuf=self._capabilities.protobuf,
        )
        self._pods = goals.PodCounter()
        self._faults: injector.Injector | None = None
        """None: there are none, or they are not prepared yet."""
        self._enough = goals.pods_for_load(scenario)
        self._load_time = goals.LoadTime(getattr(scenario.traffic, "load_max_s", 0.0))
        self._changes = goals.PoolChangeGoal(plan, directory)
        self._convergence = goals.Convergence(plan)
        self._memory = memory_sampling.MemorySampler(
            lambda: {"api-server": cluster.pids, **self._supervisor.pids()},
            self._supervisor.note,
            pods_ran=lambda: self._pods.ran,
        )
        self._owed_ns = 0
        self._spotters = goals.spotters(plan, directory)
        self._watches = [
            informers.Informer(
                self._api,
                resource,
                name=f"run-{resource.plural}",
                namespace=plan.namespace if resource.namespaced else None,
                handlers=handlers,
                trims=True,  # the types of convergence have the managers as bytes of JSON
            )
            for resource in (apis.PODS, apis.CLAIMS, apis.SLICES)
            if (handlers := list(self._handlers(resource)))
        ]

    def run(self) -> errors.HarnessError | None:
        """Run all phases; return the error if some evidence could not be written."""
        audited_from = self._cluster.audit_position()
        cluster_records.note_run(self._cluster.kubeconfig.resolve().parent, self._plan.run_id)
        with _refusing("pools", codes=(400, 422)):
            world = self._publish()
        failure = None
        try:
            for where, resource, obj in self._tried_objects():
                with _refusing(where):
                    self._api.require_accepted(resource, obj, namespace=self._plan.namespace)
            for phase in self._phases():
                phase()
        except errors.TimeUpError as error:
            self._supervisor.phase("ended early", detail=str(error))
        except (errors.ProcessError, errors.ClusterError, errors.StorageError) as error:
            if not self._has_waited_after_crash(str(error)):
                self._supervisor.phase("ended early", detail=str(error))
        except OSError as error:
            if not writing.is_of_writing(error):
                raise
            failure = writing.explain(error)
            self._supervisor.phase("ended early", detail=str(failure))
        finally:
            try:
                self._end(world)
            finally:
                failure = self._save_audit_log(audited_from) or failure
        return self._supervisor.failure or failure

    def _phases(self) -> list[Callable[[], None]]:
        subject, load = self._start_subject, self._start_traffic
        subject_is_up, load_is_done = self._wait_for_subject, self._wait_for_traffic
        if isinstance(self._scenario.traffic, script_specs.ScriptTraffic):
            order = [load, subject, subject_is_up, load_is_done]
        elif self._scenario.subject.start == "before-traffic":
            order = [subject, load, subject_is_up, load_is_done]
        else:
            order = [load, load_is_done, subject, subject_is_up]
        return [
            self._plant_garbage,
            self._start_watches,
            self._prepare_faults,
            self._start_observers,
            *order,
            self._owe_progress,
            self._wait_for_pods,
            self._heal_faults,
            self._wait_for_progress,
        ]

    def _handlers(self, resource: apis.Resource) -> Iterator[informers.EventHandler]:
        if resource is apis.PODS:
            yield self._pods
        elif resource is apis.CLAIMS:
            doubles = goals.DoubleAllocationSpotter
            yield from (one for one in self._spotters if isinstance(one, doubles))
        if self._plan.progress_s is not None:
            yield self._convergence.handler(resource.plural)

    # -------------------------------------------------------------------- fixtures

    def _publish(self) -> fake_world.FakeWorld:
        scenario = self._scenario
        imported = scenario.pools.from_
        return fake_world.publish(
            self._api,
            scenario.pools,
            namespace=self._plan.namespace,
            run_id=self._plan.run_id,
            admin=any(one.has_admin_access for one in scenario.object_sets)
            or any(kind.has_admin_access for kind in scenario.claim_kinds),
            imported=imported_pools.SavedObjects(self._directory.pool_objects) if imported else (),
            on=self._capabilities,
        )

    def _tried_objects(self) -> Iterator[tuple[str, apis.Resource, Object]]:
        for number, kind in enumerate(self._scenario.claim_kinds):
            if kind.extended:
                continue
            spec = objects.claim_spec(kind, self._scenario.pools)
            where = f"claims.{number}" if self._scenario.claims else "claim"
            yield where, apis.CLAIMS, objects.claim("tried", spec, run_id=self._plan.run_id)
        yield from object_rounds.ObjectRounds(self._scenario, run_id=self._plan.run_id).tried()

    def _plant_garbage(self) -> None:
        """Find out whether the cluster collects garbage, if the plan does not say it."""
        if self._plan.progress_s is not None and self._plan.collects_garbage is None:
            fake_world.plant_garbage(self._api, self._plan.namespace, run_id=self._plan.run_id)

    # -------------------------------------------------------------------- starting

    def _start_watches(self) -> None:
        for one in self._scenario.object_sets:
            if one.left_out:
                self._progress.note(f"{one.file}: left out: {', '.join(one.left_out)}")
        self._memory.start()
        for watch in self._watches:
            watch.start()
        for watch in self._watches:  # without the first lists, everything would seem to be at rest
            watch.wait_synced(timeout_s=SYNC_TIMEOUT_S)

    def _prepare_faults(self) -> None:
        if not self._plan.faults:
            return
        self._phase("preparing the faults")
        for fault in self._plan.faults:
            self._progress.note(f"{fault.name}: {fault.text}")
        stage = injecting.Stage(
            plan=self._plan,
            scenario=self._scenario,
            directory=self._directory,
            cluster=self._cluster,
            supervisor=self._supervisor,
            processes=self._processes,
            journal=fault_journal.FaultJournal(self._directory.faults, run_id=self._plan.run_id),
        )
        self._faults = injector.Injector(injector.led(stage), has_load=self._has_begun)

    def _start_observers(self) -> None:
        self._phase("starting the recorder and the kubelets")
        self._processes.start_observers()

    def _start_subject(self) -> None:
        self._phase("starting the scheduler")
        self._processes.start_subject()

    def _wait_for_subject(self) -> None:
        self._supervisor.wait_ready(*self._plan.expected_steps)  # other programs do not report it
        if self._faults is not None:
            self._faults.subject_ready.set()

    def _start_traffic(self) -> None:
        self._phase("starting the load")
        if self._faults is not None:
            self._faults.start()
        self._processes.start_traffic()

    def _heal_faults(self) -> None:
        if self._faults is None:
            return
        self._phase("healing the faults")
        self._faults.heal()
        self._faults.require_journal()
        self._phase("faults healed")
        self._progress.faults(())
        self._owe_progress()

    # --------------------------------------------------------------------- waiting

    def _wait_for_traffic(self) -> None:
        self._phase("load")
        most_s = getattr(self._scenario.traffic, "load_max_s", 0.0)
        longer_s = most_s * (traffic_specs.LONGER_FOR_FAULTS - 1)
        self._wait("the traffic to end", self._traffic_has_ended, longer_s=longer_s)

    def _traffic_has_ended(self) -> bool:
        traffic = self._scenario.traffic
        if isinstance(traffic, script_specs.ScriptTraffic):
            return self._faults is not None and self._faults.has_ended(script_specs.JOURNAL)
        if isinstance(traffic, traffic_specs.AllAtOnceTraffic):
            self._progress.advance(self._pods.present, traffic.pods, "pods created")
        else:
            self._progress.advance(self._pods.ran, self._enough, "pods have run")
        if self._has_done_enough():
            launching.enough_file(self._directory).touch()
        return self._supervisor.finished(run_processes.TRAFFIC)

    def _has_done_enough(self) -> bool:
        if self._faults is not None and self._faults.is_awaited():
            return False
        if self._pods.ran >= self._enough and self._changes.is_reached():
            return True
        return self._has_begun() and self._load_time.is_up(self._pods.ran, self._enough)

    def _has_begun(self) -> bool:
        return self._pods.present + self._pods.ran > 0

    def _wait_for_pods(self) -> None:
        """If progress is judged, a standstill ends the wait: a finding, no timeout."""
        traffic = self._scenario.traffic
        if not isinstance(traffic, traffic_specs.AllAtOnceTraffic):
            return
        count = possibility.pods_to_run(self._scenario, traffic)
        self._phase("scheduling")

        def all_running() -> bool:
            self._progress.advance(self._pods.running, count, "pods running")
            return self._pods.running >= count or self._is_still()

        self._wait(f"{count} pods to run", all_running)

    def _wait_for_progress(self) -> None:
        if self._plan.progress_s is None:
            return
        self._phase("progress")
        self._wait("progress", lambda: self._convergence.is_at_rest() or self._is_still())
        if self._plan.collects_garbage is None:
            works = fake_world.is_garbage_collected(self._api, self._plan.namespace)
            found = resource_leaks.WORKS if works else resource_leaks.FAILS
            self._supervisor.phase(found)

    def _has_waited_after_crash(self, why: str) -> bool:
        """Give the pods their time after the scheduler has crashed; return False if it has not.

        Those that could run stand still then. Only runs whose progress is judged wait, and only
        for our own scheduler: some of its defects end it, and are found in this way.
        """
        python = subject_specs.PythonScheduler
        named = subjects.schedulers(self._scenario.subject)
        own = [name for name, scheduler in named if isinstance(scheduler, python)]
        if self._plan.progress_s is None or self._supervisor.crashed not in own:
            return False
        self._supervisor.phase(claim_progress.CRASHED, detail=why)
        self._heal_faults()
        self._owe_progress()
        with contextlib.suppress(errors.WaitTimeoutError):
            clocks.wait_until(
                lambda: self._is_still() or self._deadline.left_s() <= 0,
                timeout_s=self._scenario.timeout_s,
                why="the pods to stand still",
            )
        return True

    def _owe_progress(self) -> None:
        self._owed_ns = clocks.monotonic_ns()

    def _is_still(self) -> bool:
        if self._plan.progress_s is None:
            return False
        allowed_s = self._plan.progress_s + goals.MARGIN_S
        return self._convergence.still_s(self._owed_ns) > allowed_s

    def _wait(self, why: str, condition: processes.Condition, *, longer_s: float = 0) -> None:
        """Wait for a condition, or for a violation if the run is to end there.

        A timeout ends the phase, not the run: the evidence up to then is judged. If progress is
        judged, there is more time, so that an object that is stuck is found and nothing times out.
        """

        def came_true() -> object:
            self._deadline.require_time()
            if self._faults is not None:
                self._faults.require_journal()
                self._progress.faults(self._faults.active())
            return self._found() or condition()

        try:
            self._supervisor.wait_until(
                came_true,
                timeout_s=self._scenario.timeout_s + 2 * (self._plan.progress_s or 0) + longer_s,
                why=why,
            )
        except errors.WaitTimeoutError as error:
            self._supervisor.phase("timed out", detail=str(error))
        if found := self._found():
            self._supervisor.phase("found", detail=found)

    def _found(self) -> str | None:
        return next((found for one in self._spotters if (found := one.found)), None)

    def _phase(self, name: str) -> None:
        self._progress.phase(name)
        self._supervisor.phase(name)

    # ---------------------------------------------------------------------- ending

    def _end(self, world: fake_world.FakeWorld) -> None:
        try:
            if self._faults is not None:
                self._faults.heal(is_abandoned=True)
            self._memory.stop()
            self._phase("stopping")
            self._processes.stop()
        finally:
            self._supervisor.kill_all()
            self._supervisor.phase("ended")
            self._supervisor.close()
            self._processes.close()
            for watch in self._watches:
                watch.stop()
            launching.enough_file(self._directory).unlink(missing_ok=True)
        self._transport.close()  # its connection may be from before a restart of the API server
        try:
            for name, scheduler in subjects.schedulers(self._scenario.subject):
                if isinstance(scheduler, subject_specs.ClusterScheduler):
                    into, since = self._directory.log(name), self._plan.created_wall_ns
                    cluster_logs.fetch(self._transport, into, since_wall_ns=since)
        finally:
            self._remove(world)
            self._transport.close()

    def _save_audit_log(self, after: int) -> errors.HarnessError | None:
        try:
            if self._plan.audit_log:
                self._cluster.save_audit_log(self._directory.audit, after=after)
        except (errors.ClusterError, errors.StorageError, errors.UnwritableError) as error:
            return error
        return None

    def _remove(self, world: fake_world.FakeWorld) -> None:
        """If that fails it is told: the verdict is valid, and `kubectl` can remove the rest."""
        for number in range(REMOVE_TRIES):
            if self._cluster.exit_report():
                return
            try:
                fake_world.remove(self._api, world)
            except (apis.ApiError, transports.TransportError, errors.WaitTimeoutError) as error:
                if not backoffs.is_transient(error) or number == REMOVE_TRIES - 1:
                    self._progress.phase(
                        f"the run's objects could not be removed ({error}); to remove them: "
                        "`kubectl delete namespaces,nodes,resourceslices,deviceclasses "
                        f"-l {fake_world.RUN_LABEL}={self._plan.run_id}`"
                    )
                    return
                clocks.sleep(REMOVE_WAIT_S)
            else:
                return


@contextlib.contextmanager
def _refusing(where: str, *, codes: Container[int] = range(400, 600)) -> Iterator[None]:
    try:
        yield
    except apis.ApiError as error:
        if error.code in codes:
            raise errors.ScenarioError(
                f"{where}: expected an object that the API server accepts; {error.message}"
            ) from error
        raise
