"""The facts about the known defects of the kubelets and their driver."""

from collections.abc import Mapping

from harness.catalogue import defect_facts, release_ranges

FACTS: Mapping[str, defect_facts.DefectFacts] = {
    "cached-claim-not-prepared": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#120550",),
        releases=release_ranges.Releases(last="1.28", of="the kubelet"),
        worlds=("node-rebooted",),
    ),
    "driver-released-first": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#140527",),
        releases=release_ranges.Releases(last="1.36.2", is_open=True, of="the kubelet"),
        worlds=("prepare-against-unprepare",),
    ),
    "driver-stale-parameters": defect_facts.DefectFacts(
        check="container_parameters", worlds=("prepare-against-unprepare",)
    ),
    "held-device-prepared": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#141471",),
        releases=release_ranges.Releases(words="drivers that do not check"),
        worlds=("prepare-against-unprepare",),
    ),
    "kubelet-forgets-claims": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("dra-driver-nvidia-gpu#642",),
        releases=release_ranges.Releases(words="drivers that keep prepared claims in memory only"),
        worlds=("kubelet-restarted",),
    ),
    "used-claim-unprepared": defect_facts.DefectFacts(
        check="prepared_devices",
        issues=("kubernetes#140212",),
        releases=release_ranges.Releases(last="1.36.2", of="the kubelet"),
        worlds=("refused-pod-ends",),
    ),
}
"""By name of the defect."""
