"""Where names stand in objects and records, and of what kind they are."""

KINDS = {
    "ResourceClaim": "claim",
    "ResourceClaimTemplate": "template",
    "ResourceSlice": "slice",
    "DeviceClass": "class",
    "DeviceTaintRule": "rule",
    "PodGroup": "group",
}
"""Kind of an object -> kind of its name; a word of its own for those of DRA."""
REFERENCES = {
    "nodeName": "node",
    "device": "device",
    "deviceClassName": "class",
    "resourceClaimName": "claim",
    "resourceClaimTemplateName": "template",
    "podGroupName": "group",
}
"""Key of a text -> kind of the name that it is, in objects."""
ITEMS = {
    "containers": "container",
    "initContainers": "container",
    "devices": "device",
    "resourceClaims": "entry",
    "claims": "entry",
}
"""Key of a list of objects -> kind of the name of each."""

# Packs replace these names, too. Imports keep them: they decide which devices are chosen.
ALL_REFERENCES = REFERENCES | {
    "namespace": "namespace",
    "node": "node",
    "driver": "driver",
    "pool": "pool",
    "image": "image",
    "imageID": "image",
    "schedulerName": "scheduler",
    "serviceAccountName": "account",
    "serviceAccount": "account",
    "hostname": "host",
    "host": "host",
    "hostIP": "address",
    "podIP": "address",
    "address": "address",
    "networkData": "network",
    "username": "user",
    "claim": "claim",
    "pod": "pod",
    "container": "container",
}
ALL_ITEMS = ITEMS | {
    "requests": "request",
    "reservedFor": "pod",
    "volumes": "volume",
    "sharedCounters": "counters",
}
