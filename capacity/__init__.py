"""The performance law: how much work one replica of a shape sustains inside its SLO, with a lower bound and a reason."""
