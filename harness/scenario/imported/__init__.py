"""Pools from objects: `pools.from` names files with ResourceSlices, DeviceClasses and Nodes.

`importing` reads the files when a scenario is loaded. A scenario keeps a summary only; the objects
go into the run directory. How they are renamed and created is for `harness.cluster.fake_nodes`.
"""
