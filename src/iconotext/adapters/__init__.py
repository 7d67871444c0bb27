"""Adapters that give chunks and contexts to other programs; each module needs its own package, from an extra."""
