"""Training: configuration, the one loop, checkpoints, predictors, background runs."""
