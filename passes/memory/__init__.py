"""Memory: live values, buffers, allocators, bytes that caches keep."""
