"""Everything that is needed only to reproduce the three papers."""
