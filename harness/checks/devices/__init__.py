"""The checks of devices: what a claim got against what it asked for and what slices offered.

Each check judges one promise of the API about an allocation, whatever other claims hold; only
`device_consumption` adds up what several claims take. A scheduler sees slices, classes and nodes
late, so an allocation is wrong only if it is wrong with every version that the API had by then.
Their use on nodes belongs to `nodes`.
"""
