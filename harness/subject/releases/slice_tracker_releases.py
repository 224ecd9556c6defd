"""Differences of the slice tracker in the releases 1.36.2 and 1.34.2.

Both also have the defects `slice-tracker-shared-drain` and `slice-tracker-unlocked-merge`. Release
1.36.2 does not get that far: with DeviceTaintRules on, it ends with a panic as soon as it handles a
ResourceSlice while there is a rule (kubernetes#139651). It is played without this.
"""

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.slice_tracking import slice_trackers


class SelectorlessRulesTracker(slice_trackers.SliceTracker):
    """A rule without `deviceSelector` taints every device, as an empty one does.

    It is documented to select no device. Up to 1.37; fixed later (kubernetes#141648).
    """

    facts = replacements.Facts(
        name="selectorless-rules",
        releases=replacements.Releases(last="1.37"),
    )

    def _may_select(self, rule: Object, obj: Object) -> bool:
        return rule["spec"].get("deviceSelector") is None or super()._may_select(rule, obj)
