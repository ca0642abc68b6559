"""Multivariate normal distributions of many unknowns, and the variance components behind them."""
