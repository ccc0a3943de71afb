"""Running queries on Spark: any plan the process can run, one query per shard, in batch and in streaming."""
