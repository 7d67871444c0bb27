"""What exists only to reproduce the three papers."""
