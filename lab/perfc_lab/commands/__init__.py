"""Commands that the laboratory adds to ``perfc``; entry points name them."""
