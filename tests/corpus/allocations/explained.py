"""Why an outcome is not as kube-scheduler 1.36.2's, for each case of the corpus where it is not."""

MATCH = (
    "kubernetes#140326: in 1.36.2 matchAttribute over lists keeps what a refused device left of the"
    " common values; here nothing is left of a device that was not taken"
)
DISTINCT = (
    "kubernetes#140438: in 1.36.2 distinctAttribute remembers one value for each request; here all"
    " devices are compared"
)
LEAK = (
    "kubernetes#140431: in 1.36.2 a device that a constraint or a taint refuses keeps its counters;"
    " here they are taken with the device"
)
LISTS = f"{MATCH}; {DISTINCT}"
RESOURCES = "the scheduler has no plugin NodeResourcesFit; it looks at claims, labels and taints"
AFFINITY = "the scheduler has no plugin NodeAffinity; it looks at the pod's nodeSelector"
SPREADING = "kube-scheduler's other plugins prefer the node that has no pod yet"
WRITES = "the refusal is the API server's, to a write of PreBind, which is not part of the replay"
OLDER = "recorded with 1.34.2, which leaves the tolerations out of the result"
OLDER_EFFECTS = "recorded with 1.34.2, in which a taint of effect None keeps a device out as well"

DIFFERENCES = {
    "list-match-backtrack": MATCH,
    "list-match-missing": MATCH,
    "list-match-scalar-in-list": MATCH,
    "list-match-three-common": MATCH,
    "list-match-versions": MATCH,
    "node-cpu-and-device": RESOURCES,
    "nodes-affinity-no-device": AFFINITY,
    "part-match-parent": LEAK,
    "pre-allocated-no-timestamp": WRITES,
    "random-lists-009": LISTS,
    "random-lists-013": LISTS,
    "random-lists-016": LISTS,
    "random-lists-017": LISTS,
    "random-lists-020": LISTS,
    "random-lists-024": LISTS,
    "random-lists-028": LISTS,
    "random-lists-033": LISTS,
    "random-lists-035": LISTS,
    "random-lists-041": LISTS,
    "random-lists-052": LISTS,
    "random-lists-054": LISTS,
    "random-lists-057": LISTS,
    "random-lists-058": LISTS,
    "random-mixed-012": DISTINCT,
    "random-mixed-027": LEAK,
    "random-mixed-116": LEAK,
    "random-nodes-030": SPREADING,
    "rule-first-available": OLDER,
    "rule-none-and-noschedule": OLDER_EFFECTS,
    "rule-plus-slice-taint-tolerated": OLDER,
    "rule-tolerated": OLDER,
    "rule-tolerated-all": OLDER,
}
"""By name of the case."""

NOT_REPLAYED = {
    "extended-resource": "the claim for extended resources is made by the scheduler's plugin",
    "random-extended": "the claim for extended resources is made by the scheduler's plugin",
}
"""Groups that cannot be replayed without the API server."""
