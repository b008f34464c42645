"""Forecasters of peak work, simplest first; each keeps the contract of `predictor.ports.Forecaster`."""
