"""Links many documents in shards: one output shard for each input shard, in many processes; runs can be resumed."""
