from __future__ import annotations


class LocalPipelineExecutor:
    def __init__(self, pipeline, *, skip_completed):
        self.source, *self.steps = pipeline

    def run(self):
        data = iter(self.source)
        for step in self.steps:
            data = step.run(data, 0, 1)
        for _ in data:
            pass
