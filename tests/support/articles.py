"""Texts of documents."""

from __future__ import annotations

ARTICLE = """# Trams

A red tram waits at the stop. The driver drinks coffee. Figure 1 shows it.

![A red tram at a stop](one.png)
*Figure 1: A red tram.*

## Cats

A cat sleeps on the roof of the depot. Nobody wakes it.

![A sleeping cat](two.png)

![Gone](gone.png)
"""
"""Two pictures with their sentences, and one that is not there."""
