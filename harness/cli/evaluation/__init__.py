"""Commands about rates of many runs: how many are needed, and how they change from night to night.
"""
