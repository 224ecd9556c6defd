"""The check of tainted devices: none is allocated that the scheduler must have known as tainted.

A scheduler sees slices and rules late, so that a device may rightly be allocated for a while after
it was tainted. It is wrong only if the device was tainted in every version that the scheduler could
have seen: from the version that it had certainly dealt with when the attempt began, up to the
allocation. The steps of the Python scheduler show which version that was; of any other scheduler it
is known only that it does not lag for ever.
"""
