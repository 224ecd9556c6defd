"""Known defects in what the scheduler knows of ResourceSlices."""
