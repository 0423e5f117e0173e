"""Commands: serve language models, generate images, train on many GPUs."""
