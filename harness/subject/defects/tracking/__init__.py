"""Known defects in what the scheduler knows of the devices in use: assume cache, claims in flight,
allocated devices and their gathering.
"""
