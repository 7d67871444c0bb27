"""Polars: a lazy frame calls a function with frames of some rows, and takes the frames that it returns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

Int32, String, Float32 = pa.int32(), pa.string(), pa.float32()
List, Struct = pa.list_, pa.struct


class Series:
    def __init__(self, name, values, dtype):
        self.name, self.values = name, pa.array(values, dtype)

    def __getitem__(self, number):
        return self.values[number].as_py()


class DataFrame:
    def __init__(self, table):
        self.table = table

    @property
    def columns(self):
        return self.table.column_names

    @property
    def schema(self):
        return self.table.schema

    def select(self, names):
        return DataFrame(self.table.select(names))

    def to_dicts(self):
        return self.table.to_pylist()

    def with_columns(self, series):
        table = self.table
        for each in series:
            table = table.append_column(each.name, each.values)
        return DataFrame(table)

    def __getitem__(self, name):
        return self.table[name].to_pylist()


class LazyFrame:
    def __init__(self, frames):
        self.frames = frames

    def head(self, n):
        return LazyFrame([DataFrame(self.frames[0].table.slice(0, n))])

    def collect(self):
        return DataFrame(pa.concat_tables(frame.table for frame in self.frames))

    def map_batches(self, function, *, schema, streamable):
        assert streamable
        mapped = [function(frame) for frame in self.frames]
        assert all(frame.schema.equals(schema) for frame in mapped)
        return LazyFrame(mapped)

    def sink_parquet(self, path):
        pq.write_table(self.collect().table, path)


def scan_parquet(path):
    table = pq.read_table(path)
    return LazyFrame([DataFrame(table.slice(n, 1)) for n in range(table.num_rows)])


def read_parquet(path):
    return DataFrame(pq.read_table(path))
