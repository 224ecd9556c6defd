"""The words of Dynamic Resource Allocation as values: devices, pools, claims, allocations, holds.

No I/O, no pandas, no decoding of API objects: judge and judged read those each in their own way, so that they
cannot be wrong together.
"""
