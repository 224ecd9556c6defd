"""Known defects in what the scheduler knows of ResourceSlices.

Contents: `slice_deletions_unseen`, `slice_tracker_shared_drain`, `slice_tracker_unlocked_merge`.
"""
