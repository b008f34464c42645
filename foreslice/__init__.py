"""The service: configuration, tick, replay, telemetry and command line."""
