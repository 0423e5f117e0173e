"""Models of TensorFlow and Paddle, which a converter reads in another process."""
