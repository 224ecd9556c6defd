"""The facts about the known defects of the kubelets and their driver."""

from collections.abc import Mapping

from harness.catalogue import defect_facts

FACTS: Mapping[str, defect_facts.DefectFacts] = {
    "cached-claim-not-prepared": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#120550",),
        releases="the kubelet up to 1.28",
        worlds=("node-rebooted",),
    ),
    "driver-released-first": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#140527",),
        releases="the kubelet of 1.36.2 and newer",
        worlds=("prepare-against-unprepare",),
    ),
    "driver-stale-parameters": defect_facts.DefectFacts(check="container_parameters"),
    "held-device-prepared": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#141471",),
        releases="drivers that do not check",
        worlds=("prepare-against-unprepare",),
    ),
    "kubelet-forgets-claims": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("dra-driver-nvidia-gpu#642",),
        releases="drivers that keep prepared claims in memory only",
    ),
    "used-claim-unprepared": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#140212",),
        releases="the kubelet up to 1.36.2",
        worlds=("refused-pod-ends",),
    ),
}
"""By name of the defect."""
