"""Where signals are read from, one adapter of `predictor.ports.MetricsSource` each."""
