"""Costs and lower bounds: FLOPs, traffic, parameters, the roofline."""
