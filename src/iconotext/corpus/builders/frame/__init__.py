"""What every builder stands on: cores, journal, report."""
