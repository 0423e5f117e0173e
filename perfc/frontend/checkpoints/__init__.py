"""Files of weights, GGUF and safetensors, read by their headers, and the hub that has them."""
