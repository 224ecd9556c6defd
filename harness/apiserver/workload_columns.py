"""The columns of pods, and of what makes, scales and protects them."""

from harness.apiserver import columns, pod_printing, printing

COLUMNS: dict[tuple[str, str], tuple[columns.Column, ...]] = {
    ("", "Pod"): (
        columns.NAME,
        columns.Column(
            "Ready",
            columns.by(pod_printing.ready),
            "The aggregate readiness state of this pod for accepting traffic.",
        ),
        columns.Column(
            "Status",
            columns.by(pod_printing.status),
            "The aggregate status of the containers in this pod.",
        ),
        columns.Column(
            "Restarts",
            pod_printing.restarts,
            "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
        ),
        columns.AGE,
        columns.Column(
            "IP", columns.at("status.podIP", columns.NONE), "core.v1.PodStatus podIP", 1
        ),
        columns.Column(
            "Node", columns.at("spec.nodeName", columns.NONE), "core.v1.PodSpec nodeName", 1
        ),
        columns.Column(
            "Nominated Node",
            columns.at("status.nominatedNodeName", columns.NONE),
            "core.v1.PodStatus nominatedNodeName",
            1,
        ),
        columns.Column(
            "Readiness Gates",
            columns.by(pod_printing.readiness_gates),
            "core.v1.PodSpec readinessGates",
            1,
        ),
    ),
    ("", "ReplicationController"): (
        columns.NAME,
        columns.Column(
            "Desired", columns.at("spec.replicas", 0), "core.v1.ReplicationControllerSpec replicas"
        ),
        columns.Column(
            "Current",
            columns.at("status.replicas", 0),
            "core.v1.ReplicationControllerStatus replicas",
        ),
        columns.Column(
            "Ready",
            columns.at("status.readyReplicas", 0),
            "core.v1.ReplicationControllerStatus readyReplicas",
        ),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("apps", "ReplicaSet"): (
        columns.NAME,
        columns.Column(
            "Desired", columns.at("spec.replicas", 0), "apps.v1.ReplicaSetSpec replicas"
        ),
        columns.Column(
            "Current", columns.at("status.replicas", 0), "apps.v1.ReplicaSetStatus replicas"
        ),
        columns.Column(
            "Ready", columns.at("status.readyReplicas", 0), "apps.v1.ReplicaSetStatus readyReplicas"
        ),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("apps", "Deployment"): (
        columns.NAME,
        columns.Column(
            "Ready", columns.by(printing.ready_of_desired), "Number of the pod with ready state"
        ),
        columns.Column(
            "Up-to-date",
            columns.at("status.updatedReplicas", 0),
            "apps.v1.DeploymentStatus updatedReplicas",
        ),
        columns.Column(
            "Available",
            columns.at("status.availableReplicas", 0),
            "apps.v1.DeploymentStatus availableReplicas",
        ),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("apps", "StatefulSet"): (
        columns.NAME,
        columns.Column(
            "Ready", columns.by(printing.ready_of_desired), "Number of the pod with ready state"
        ),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
    ),
    ("apps", "DaemonSet"): (
        columns.NAME,
        columns.Column(
            "Desired",
            columns.at("status.desiredNumberScheduled", 0),
            "apps.v1.DaemonSetStatus desiredNumberScheduled",
        ),
        columns.Column(
            "Current",
            columns.at("status.currentNumberScheduled", 0),
            "apps.v1.DaemonSetStatus currentNumberScheduled",
        ),
        columns.Column(
            "Ready", columns.at("status.numberReady", 0), "apps.v1.DaemonSetStatus numberReady"
        ),
        columns.Column(
            "Up-to-date",
            columns.at("status.updatedNumberScheduled", 0),
            "apps.v1.DaemonSetStatus updatedNumberScheduled",
        ),
        columns.Column(
            "Available",
            columns.at("status.numberAvailable", 0),
            "apps.v1.DaemonSetStatus numberAvailable",
        ),
        columns.Column(
            "Node Selector", columns.by(printing.node_selector), "core.v1.PodSpec nodeSelector"
        ),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("batch", "Job"): (
        columns.NAME,
        columns.Column("Status", columns.by(printing.job_status), "Status of the job."),
        columns.Column(
            "Completions", columns.by(printing.job_completions), "batch.v1.JobStatus succeeded"
        ),
        columns.Column("Duration", printing.job_duration, "Time required to complete the job."),
        columns.AGE,
        *columns.WIDE_CONTAINERS,
        columns.SELECTOR,
    ),
    ("batch", "CronJob"): (
        columns.NAME,
        columns.Column("Schedule", columns.at("spec.schedule"), "batch.v1.CronJobSpec schedule"),
        columns.Column(
            "Timezone", columns.at("spec.timeZone", columns.NONE), "batch.v1.CronJobSpec timeZone"
        ),
        columns.Column("Suspend", columns.by(printing.suspended), "batch.v1.CronJobSpec suspend"),
        columns.Column(
            "Active", columns.by(printing.count("status.active")), "batch.v1.CronJobStatus active"
        ),
        columns.Column(
            "Last Schedule", printing.last_schedule, "batch.v1.CronJobStatus lastScheduleTime"
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
