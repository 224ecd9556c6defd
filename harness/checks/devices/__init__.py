"""The checks of allocations: what a claim got against what it asked for and what slices offered.

Each check judges one promise of the API about an allocation, whatever other claims hold. A
scheduler sees slices, classes and nodes late, so an allocation is wrong only if it is wrong with
every version that the API had by then; `existing_devices` alone also asks when a version was
replaced. Sums over several claims belong to `consumption`, and what nodes do with the devices to
`nodes`.
"""
