from __future__ import annotations


class Registry:
    def __init__(self):
        self.modules = {}

    def register_module(self, name):
        return lambda operator: self.modules.setdefault(name, operator)


OPERATORS = Registry()


class Mapper:
    _batched_op = False

    def __init__(self, *args, **kwargs):
        assert self._batched_op
        self.process = self.process_batched

    def process_batched(self, samples):
        raise NotImplementedError
