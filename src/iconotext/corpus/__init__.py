"""Many documents on disk."""
