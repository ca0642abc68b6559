"""Training of model files from judged collections: fit, validate, describe."""
