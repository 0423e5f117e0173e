"""Analyze many models: a pool of workers, and one Parquet file per shard."""
