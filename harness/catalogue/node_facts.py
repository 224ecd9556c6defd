"""The facts about the known defects of the kubelets and their driver."""

from collections.abc import Mapping

from harness.catalogue import defect_facts

FACTS: Mapping[str, defect_facts.DefectFacts] = {
    "driver-released-first": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#140527",),
        releases="the kubelet of 1.36.2 and newer",
        worlds=("prepare-against-unprepare",),
    ),
    "driver-stale-parameters": defect_facts.DefectFacts(check="container_parameters"),
    "kubelet-forgets-claims": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("dra-driver-nvidia-gpu#642",),
        releases="drivers that keep prepared claims in memory only",
    ),
}
"""By name of the defect."""
