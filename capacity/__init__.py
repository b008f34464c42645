"""The performance law: the work one replica of a shape sustains inside its SLO, with bound and reason."""
