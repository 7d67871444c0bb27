"""Many documents in shards: one input shard gives one output shard, in many processes, stopped and gone on with."""
