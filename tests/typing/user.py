"""A user's program, for mypy only: the public names have the types that a user relies on."""

import pandas as pd

from foreslice import (
    Forecaster,
    InputError,
    PeakForecast,
    PeakForecaster,
    QuantileBoosting,
    WorkloadKey,
    WorkSeries,
    backtest,
    capacity_of,
    make_plan,
    promote,
    read_demand,
    read_recipe,
    rollback,
    run_replay,
    train,
    tune,
)

demand: pd.DataFrame = read_demand("demand.csv", time="t", by="who", value="rate")
peaks: pd.DataFrame = Forecaster(windows=["30m"], quantiles=[0.95]).fit(demand).forecast()
scores: pd.DataFrame = backtest(demand, recipe=read_recipe("own"))
leaves: int = QuantileBoosting(0.9, leaves=7).leaves
over: float = tune(demand, "mine.yaml", trials=4).over_rules

made = train(demand, "models/store")
may_serve: bool = not made.objections
try:
    generation: int = promote(made.which, "models/store")
except InputError as error:
    fix: str = error.fix
before: str | None = rollback("global", "models/store")

sizes: pd.DataFrame = capacity_of("qwen2.5-7b-bf16", "h100-80gb", ttft_p95="1s")
cards: object = make_plan("snapshot.json", "settings.yaml")["cards"]
hours: float = run_replay("forecast off", seed=2, hours=1.0).gpu_hours


class Mine:
    """A forecaster of a user's own."""

    def __init__(self, workload: WorkloadKey) -> None:
        self.workload = workload

    def fit(self, history: WorkSeries) -> "Mine":
        """Learn nothing."""
        return self

    def update(self, work: float, *, is_censored: bool = False) -> None:
        """Take in nothing."""

    def peaks(self) -> PeakForecast:
        """Say nothing."""
        raise NotImplementedError


mine: PeakForecaster = Mine(WorkloadKey("default", "chat"))
