"""Attention: standard, fused, grouped, packed and paged; rotary position embedding."""
