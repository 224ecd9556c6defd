"""The facts about each known defect: the check that catches it, its history, its scenarios.

The defects themselves are beside the code that they change: in `subject.defects` and in
`cluster.dra.kubelet_defects`. Here are the facts about them, in one typed place, joined with the
scenarios that name them as controls.
"""
