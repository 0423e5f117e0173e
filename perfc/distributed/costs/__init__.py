"""Work and memory of one part of a distributed step."""
