"""The analyses of the papers."""
