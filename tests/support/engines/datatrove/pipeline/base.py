from __future__ import annotations


class PipelineStep:
    def __init__(self):
        self.stats = {}
