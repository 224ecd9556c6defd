"""The columns of workloads: pods, their controllers, and PodDisruptionBudgets."""

from harness.apiserver.printers import cells, columns, pod_cells

COLUMNS: dict[tuple[str, str], tuple[columns.Column, ...]] = {
    ("", "Pod"): (
        columns.NAME,
        columns.Column(
            "Ready",
            columns.by(pod_cells.ready),
            "The aggregate readiness state of this pod for accepting traffic.",
        ),
        columns.Column(
            "Status",
            columns.by(pod_cells.status),
            "The aggregate status of the containers in this pod.",
        ),
        columns.Column(
            "Restarts",
            pod_cells.restarts,
            "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
        ),
        columns.AGE,
        columns.field("IP", "status.podIP", "core.v1.PodStatus", columns.NONE, priority=1),
        columns.field("Node", "spec.nodeName", "core.v1.PodSpec", columns.NONE, priority=1),
        columns.field(
            "Nominated Node",
            "status.nominatedNodeName",
            "core.v1.PodStatus",
            columns.NONE,
            priority=1,
        ),
        columns.Column(
            "Readiness Gates",
            columns.by(pod_cells.readiness_gates),
            "core.v1.PodSpec readinessGates",
            1,
        ),
    ),
    ("", "ReplicationController"): (
        columns.NAME,
        columns.field("Desired", "spec.replicas", "core.v1.ReplicationControllerSpec", 0),
        columns.field("Current", "status.replicas", "core.v1.ReplicationControllerStatus", 0),
        columns.field("Ready", "status.readyReplicas", "core.v1.ReplicationControllerStatus", 0),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("apps", "ReplicaSet"): (
        columns.NAME,
        columns.field("Desired", "spec.replicas", "apps.v1.ReplicaSetSpec", 0),
        columns.field("Current", "status.replicas", "apps.v1.ReplicaSetStatus", 0),
        columns.field("Ready", "status.readyReplicas", "apps.v1.ReplicaSetStatus", 0),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("apps", "Deployment"): (
        columns.NAME,
        columns.Column(
            "Ready", columns.by(cells.ready_of_desired), "Number of the pod with ready state"
        ),
        columns.field("Up-to-date", "status.updatedReplicas", "apps.v1.DeploymentStatus", 0),
        columns.field("Available", "status.availableReplicas", "apps.v1.DeploymentStatus", 0),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("apps", "StatefulSet"): (
        columns.NAME,
        columns.Column(
            "Ready", columns.by(cells.ready_of_desired), "Number of the pod with ready state"
        ),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
    ),
    ("apps", "DaemonSet"): (
        columns.NAME,
        columns.field("Desired", "status.desiredNumberScheduled", "apps.v1.DaemonSetStatus", 0),
        columns.field("Current", "status.currentNumberScheduled", "apps.v1.DaemonSetStatus", 0),
        columns.field("Ready", "status.numberReady", "apps.v1.DaemonSetStatus", 0),
        columns.field("Up-to-date", "status.updatedNumberScheduled", "apps.v1.DaemonSetStatus", 0),
        columns.field("Available", "status.numberAvailable", "apps.v1.DaemonSetStatus", 0),
        columns.Column(
            "Node Selector", columns.by(cells.node_selector), "core.v1.PodSpec nodeSelector"
        ),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("batch", "Job"): (
        columns.NAME,
        columns.Column("Status", columns.by(cells.job_status), "Status of the job."),
        columns.Column(
            "Completions", columns.by(cells.job_completions), "batch.v1.JobStatus succeeded"
        ),
        columns.Column("Duration", cells.job_duration, "Time required to complete the job."),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("batch", "CronJob"): (
        columns.NAME,
        columns.field("Schedule", "spec.schedule", "batch.v1.CronJobSpec"),
        columns.field("Timezone", "spec.timeZone", "batch.v1.CronJobSpec", columns.NONE),
        columns.Column("Suspend", columns.by(cells.suspended), "batch.v1.CronJobSpec suspend"),
        columns.Column(
            "Active", columns.by(cells.count("status.active")), "batch.v1.CronJobStatus active"
        ),
        columns.Column(
            "Last Schedule", cells.last_schedule, "batch.v1.CronJobStatus lastScheduleTime"
        ),
        columns.AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        columns.NAME,
        columns.Column(
            "Min Available",
            columns.at("spec.minAvailable", "N/A"),
            "The minimum number of pods that must be available.",
        ),
        columns.Column(
            "Max Unavailable",
            columns.at("spec.maxUnavailable", "N/A"),
            "The maximum number of pods that may be unavailable.",
        ),
        columns.Column(
            "Allowed Disruptions",
            columns.at("status.disruptionsAllowed", 0),
            "Calculated number of pods that may be disrupted at this time.",
        ),
        columns.AGE,
    ),
}
