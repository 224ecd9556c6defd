"""Commands about runs that have ended, and `run`: judge, report, explain, compare, reproduce."""
