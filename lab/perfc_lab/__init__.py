"""The laboratory of perfc: makes and judges predictors. The product never imports it."""
