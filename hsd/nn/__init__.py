"""Blocks of models: pointwise networks, spectral convolutions, grid transfer, message passing, attention."""
