"""How the processes of a run are started: recorder, driver, kubelets, load, schedulers, controller.

`runs` decides when to start them; `supervising` starts, watches and stops them.
"""

import contextlib
import pathlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from harness import errors, processes, writing
from harness.cluster import interfaces
from harness.history import directories, last_words, plans
from harness.model import naming
from harness.run import driver_processes, subjects, supervising, thread_plans
from harness.run.defects import known_defects
from harness.run.programs import controller_commands, driver_commands, scheduler_commands
from harness.scenario import pool_changes, script_specs, specs, subject_specs
from harness.scenario.fault_kinds import stopped_processes
from harness.subject import remedies as known_remedies
from harness.threads import messages, tracer_session
from harness.traffic import launching

RECORDER, KUBELET, TRAFFIC = "recorder", "kubelet", "traffic"
TRAFFIC_STOP_TIMEOUT_S = launching.STOP_TIMEOUT_S + 10.0
"""Seconds for the traffic to end before it is killed; users alone may take STOP_TIMEOUT_S."""
_SUBJECT_SETTINGS = (
    "switch_interval_s",
    "binders",
    "reserve_by",
    "binding_timeout_s",
    "backoff_initial_s",
    "backoff_max_s",
    "filter_timeout_s",
    "parallelism",
    "lists_cached",
    "pauses",
)
"""Keys of the scenario's `subject` that go to the settings file of the Python subject."""


class RunProcesses:
    """The processes of one run, started and stopped through its supervisor."""

    def __init__(
        self,
        supervisor: supervising.Supervisor,
        plan: plans.Plan,
        scenario: specs.Scenario,
        directory: directories.RunDirectory,
        cluster: interfaces.Cluster,
        *,
        protobuf: bool,
    ) -> None:
        """`protobuf`: programs of Kubernetes use protobuf instead of JSON."""
        self._supervisor, self._plan, self._directory = supervisor, plan, directory
        self._scenario, self._logs = scenario, directory.logs.resolve()
        self._kubeconfig = cluster.kubeconfig.resolve()
        self._user_kubeconfig = cluster.user_kubeconfig.resolve()
        self._protobuf = protobuf
        self._led: dict[str, pathlib.Path] = {}
        """Kubeconfigs of clients that go through a carrier of faults."""
        # As the kubelet does with the static pod of kube-scheduler.
        supervisor.on_lease_lost = self.start_next
        self._drivers = driver_processes.DriverProcesses(
            driver_commands.of(self._scenario.subject),
            driver_commands.of_run(self._scenario),
            directory=directory,
            supervisor=supervisor,
        )
        self._parts: dict[str, subject_specs.AnyScheduler | subject_specs.AnyClaimController] = {
            **dict(subjects.schedulers(scenario.subject)),
            naming.CLAIM_CONTROLLER: scenario.subject.claim_controller,
        }

    def lead_through(self, kubeconfigs: Mapping[str, pathlib.Path]) -> None:
        """Let these clients, by their names, use other kubeconfigs from their next start on."""
        self._led.update(kubeconfigs)

    def foreign_clients(self) -> list[str]:
        """Return the parts of the subject that are not ours: programs that need TLS."""
        ours = subjects.python_parts(self._scenario.subject)
        return [name for name in self._parts if name not in ours]

    def start_observers(self) -> None:
        """Start the recorder, the driver and the kubelets, and wait until they are ready."""
        self._supervisor.start_part(
            RECORDER,
            "record",
            "--kubeconfig",
            self._kubeconfig_of(RECORDER),
            self._directory.path.resolve(),
        )
        for name in (*self._drivers.names, *self._kubelets):
            self._start(name)
        with self._explaining_drivers():
            self._supervisor.wait_ready(RECORDER, *self._drivers.that_report, *self._kubelets)

    def start_subject(self) -> None:
        for name in self._parts:
            self._start(name)

    def start_next(self, name: str) -> str:
        new = naming.incarnation(name, len(self._supervisor.incarnations(name)) + 1)
        self._start(new)
        return new

    def start_again(self, name: str) -> str:
        """Start another incarnation of a scheduler, the claim controller or the kubelets.

        The command is the same, the journals are new. Older incarnations that still run go on.
        Returns its process name when it is ready. Raises the errors of `Supervisor.wait_until`, and
        SubjectError if a program ends at once.
        """
        new = self.start_next(name)
        reporting = (*self._kubelets, *self._drivers.that_report, *self._plan.expected_steps)
        if name in reporting:
            self._supervisor.wait_ready(new)
        return new

    def start_traffic(self) -> None:
        if isinstance(self._scenario.traffic, script_specs.ScriptTraffic):
            return
        self._supervisor.start(
            TRAFFIC,
            launching.command(self._scenario.traffic),
            env=launching.environment(self._directory, self._kubeconfig_of(TRAFFIC)),
            finite=True,
        )

    def stop(self) -> None:
        """Stop all processes in order; the recorder comes last, to see all that the others do."""
        self._supervisor.stop(TRAFFIC, timeout_s=TRAFFIC_STOP_TIMEOUT_S)
        self._supervisor.stop_all([*self._parts, *self._kubelets, *self._drivers.names, RECORDER])

    def close(self) -> None:
        self._drivers.remove_sockets()

    def _start(self, name: str) -> None:
        first = naming.first_incarnation(name)
        if first in (KUBELET, stopped_processes.KUBELET):
            self._start_kubelet(name)
        elif first in self._drivers.names:
            self._start_driver(name)
        else:
            self._start_part(name, self._parts[first])

    @property
    def _kubelets(self) -> list[str]:
        return self._plan.expected_preparations

    @property
    def lost_node(self) -> str:
        return self._nodes[-1]

    @property
    def drivers_of_lost_node(self) -> list[str]:
        return self._drivers.alone_on(self.lost_node)

    @property
    def cdi_of_lost_node(self) -> pathlib.Path | None:
        """The folder of that node's CDI files; None: its driver writes none."""
        return self._drivers.cdi_folder(self.lost_node)

    @property
    def _nodes(self) -> list[str]:
        pools = self._scenario.pools
        return [naming.node(index, prefix=pools.node_prefix) for index in range(pools.nodes)]

    def _nodes_of(self, kubelet: str) -> list[str]:
        if len(self._kubelets) == 1:
            return []
        is_lost = naming.first_incarnation(kubelet) == stopped_processes.KUBELET
        chosen = [self.lost_node] if is_lost else self._nodes[:-1]
        return [word for node in chosen for word in ("--node", node)]

    def _start_kubelet(self, name: str) -> None:
        first, changes = naming.first_incarnation(name), self._plan.expected_pool_changes
        served = known_defects.of_actor(self._plan.defects, "driver") if self._drivers.names else []
        defects = known_defects.of_part(self._plan.defects, "kubelet")
        self._supervisor.start_part(
            name,
            "kubelet",
            *self._connection(name),
            "--state",
            self._directory.kubelet_state(first).resolve(),
            *processes.changed(
                settings=self._driver_settings(name),
                operations=self._directory.operations(name).resolve(),
                preparations=self._directory.preparations(name).resolve(),
                seed=self._plan.seed,
                run_id=self._plan.run_id,
            ),
            *self._nodes_of(name),
            *_defects(each for each in defects if each not in served),
            *self._drivers.kubelet_options(),
            *self._awaited_drivers(name),
            *(self._pool_changes(name) if first in changes else ()),
        )

    def _awaited_drivers(self, name: str) -> list[str]:
        """Return the options by which the first kubelets wait for drivers; later ones need not."""
        is_first = naming.first_incarnation(name) == name
        if not is_first or not self._drivers.kubelet_options():
            return []
        known = self._scenario.pools.drivers
        return [word for driver in known for word in processes.changed(wait_for_driver=driver)]

    @contextlib.contextmanager
    def _explaining_drivers(self) -> Iterator[None]:
        try:
            yield
        except errors.ProcessError as error:
            for name in self._kubelets:
                said = last_words.of_log(self._directory.log(name), or_last_line=True)
                if driver_processes.NOT_REGISTERED in said:
                    raise errors.SubjectError(said.removeprefix("flake-hunt: ")) from error
            raise

    def _start_driver(self, name: str) -> None:
        defects = known_defects.of_actor(self._plan.defects, "driver")
        self._drivers.start(
            name,
            first=naming.first_incarnation(name),
            options=["--settings", self._driver_settings(name), *_defects(defects)],
            kubeconfig=self._kubeconfig_of(name, foreign=not self._drivers.that_report),
        )

    def _pool_changes(self, name: str) -> list[str | pathlib.Path]:
        settings = pool_changes.PoolChanges(changes=self._scenario.pools.changes)
        path = self._written(f"{name}-changes", settings.model_dump_json().encode())
        journal = self._directory.pool_changes(name).resolve()
        return [*processes.changed(changes=path, changes_journal=journal)]

    def _driver_settings(self, name: str) -> pathlib.Path:
        return self._written(f"{name}-settings", self._scenario.driver.model_dump_json().encode())

    def _written(self, name: str, document: bytes) -> pathlib.Path:
        path = self._logs / f"{name}.json"
        writing.replace(path, document)
        return path

    def _start_part(
        self, name: str, part: subject_specs.AnyScheduler | subject_specs.AnyClaimController
    ) -> None:
        kubeconfig = self._kubeconfig_of(name, foreign=True)
        environment = subjects.environment(self._scenario)
        match part:
            case "python":
                self._start_subject_part(name, naming.CLAIM_CONTROLLER)
                return
            case subject_specs.PythonScheduler():
                self._start_python_scheduler(name, part.scheduler_name)
                return
            case subject_specs.KubeScheduler():
                argv = self._kube_scheduler(name, part, kubeconfig)
            case subject_specs.CommandScheduler():
                values = self._values(name, part.scheduler_name, kubeconfig)
                argv = scheduler_commands.filled(part.command, values)
            case subject_specs.KubeControllerManager():
                environment, evicts = {}, self._scenario.pools.evicts
                argv = controller_commands.command(
                    part, kubeconfig=kubeconfig, protobuf=self._protobuf, evicts=evicts
                )
            case _:
                return
        elected = self._is_elected and isinstance(part, subject_specs.KubeScheduler)
        environment = {"KUBECONFIG": str(kubeconfig), **environment}
        self._start_program(name, argv, environment, elected=elected)

    def _start_python_scheduler(self, name: str, scheduler_name: str) -> None:
        options = ["--scheduler-name", scheduler_name]
        options += processes.changed(leader_elect=True) if self._is_elected else []
        verbosity = self._scenario.subject.verbosity
        options += ["-v", str(verbosity)] if verbosity else []
        self._start_subject_part(name, subjects.PROCESS, *options, elected=self._is_elected)

    def _kube_scheduler(
        self, name: str, scheduler: subject_specs.KubeScheduler, kubeconfig: pathlib.Path
    ) -> list[str]:
        file, subject = self._logs / f"{name}-configuration.json", self._scenario.subject
        document = scheduler_commands.configuration(
            scheduler,
            subject,
            kubeconfig=kubeconfig,
            namespace=self._plan.namespace,
            protobuf=self._protobuf,
        )
        file.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2))
        return scheduler_commands.kube_scheduler_command(scheduler, file, subject.verbosity)

    def _values(
        self, name: str, scheduler_name: str, kubeconfig: pathlib.Path
    ) -> Mapping[str, str]:
        log_dir = self._logs / name
        log_dir.mkdir(exist_ok=True)
        return {
            "kubeconfig": str(kubeconfig),
            "scheduler_name": scheduler_name,
            "namespace": self._plan.namespace,
            "log_dir": str(log_dir),
            "run_id": self._plan.run_id,
            "seed": str(self._plan.seed),
        }

    def _start_program(
        self, name: str, argv: list[str], environment: Mapping[str, str], *, elected: bool = False
    ) -> None:
        program = argv[0]
        if naming.first_incarnation(name) in thread_plans.traced(self._scenario):
            socket = messages.socket_of(self._logs, name)
            first = thread_plans.at_random(self._scenario, self._plan.seed)
            argv = tracer_session.command(socket, argv, first=first)
        self._supervisor.start_foreign(
            name, argv, env=environment, elected=elected, program=program
        )

    @property
    def _is_elected(self) -> bool:
        return self._scenario.subject.leader_election is not None

    def _start_subject_part(
        self, name: str, part: str, *arguments: str, elected: bool = False
    ) -> None:
        common = [*self._connection(name), *processes.changed(settings=self._settings(name))]
        common += _defects(known_defects.of_actor(self._plan.defects, part))
        for remedy in known_remedies.CATALOGUE.of_process(self._plan.remedies, part):
            common += processes.changed(remedies=remedy)
        if self._plan.release:
            common += processes.changed(release=self._plan.release)
        common += processes.changed(
            steps=self._directory.steps(name).resolve(),
            operations=self._directory.operations(name).resolve(),
        )
        if naming.first_incarnation(name) in thread_plans.traced(self._scenario):
            common += processes.changed(threads=messages.socket_of(self._logs, name))
        self._supervisor.start_part(name, part, *common, *arguments, elected=elected)

    def _settings(self, name: str) -> pathlib.Path:
        chosen = self._plan.settings["subject"]
        settings = {key: chosen[key] for key in _SUBJECT_SETTINGS}
        settings |= {"seed": self._plan.seed, "run_id": self._plan.run_id}
        settings["user_agent"] = naming.field_manager(name)
        settings["evicts"] = self._scenario.pools.evicts
        if chosen.get("leader_election"):
            settings["lease"] = chosen["leader_election"]
        return self._written(f"{name}-settings", msgspec.json.encode(settings))

    def _connection(self, name: str) -> list[str | pathlib.Path]:
        namespace = processes.changed(namespace=self._plan.namespace)
        return ["--kubeconfig", self._kubeconfig_of(name), *namespace]

    def _kubeconfig_of(self, name: str, *, foreign: bool = False) -> pathlib.Path:
        led = self._led.get(name) or self._led.get(naming.first_incarnation(name))
        return led or (self._user_kubeconfig if foreign else self._kubeconfig)


def _defects(chosen: Iterable[str]) -> list[str]:
    return [word for defect in chosen for word in ("--defect", defect)]
