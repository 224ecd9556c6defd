"""Reports of a subject process about its work: Events and conditions of pods, metrics, logs.

Nothing here takes part in a decision, and all of it may be switched off.

Contents: `klog`, `klog_lines`, `pod_messages`, `pod_reports`, `scheduler_metrics`.
"""
