"""TensorFlow Lite models, read with the standard library."""
