"""How long forecasts decide on public traces: `python -m tests.bench.gate_table FOLDER [SERIES ...]`.

Minutes a series: the ladder learns anew each day, as the service does.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from fleet.workload import WorkloadKey
from foreslice.settings.recipe_file import shipped
from foreslice.training import here
from predictor.ladder import Ladder
from predictor.ports import WorkSeries
from predictor.value.gate import DAY_MIN, Gate, Terms

PEAK = 8.0
GRAIN = 1 / 7
LEADS_S = (240.0, 800.0)
FROM = 0.7
"""Judgements count from this part of a trace on; what comes before is for learning."""


def nasa(folder):
    rows = pd.read_csv(folder / "nasa" / "http_1min_1995-07.csv.gz", parse_dates=["timestamp"])
    return rows.set_index("timestamp").n_requests.asfreq("min").to_numpy(float)


def burst(folder):
    return pd.read_csv(folder / "burstgpt" / "week1_1min.csv.gz").total_tokens_per_s.to_numpy(float)


def total(name):
    def read(folder):
        rows = pd.read_csv(folder / "servegen" / "models_10min.csv.gz")
        rows = rows[rows.workload == name].set_index("t_s")
        steps = (rows.prompt_tokens_per_s + rows.output_tokens_per_s).reindex(
            range(0, rows.index[-1] + 600, 600)
        )
        return np.repeat(steps.where(steps > 0.1 * steps.median()).to_numpy(), 10)

    return read


def nab(name, step_min, days):
    def read(folder):
        rows = pd.read_csv(folder / "nab" / "series.csv.gz", parse_dates=["timestamp"])
        steps = rows[rows.series == name].value.to_numpy(float)
        return np.repeat(steps, step_min)[-days * DAY_MIN :]

    return read


SERIES = {
    "nasa": nasa,
    "taxi": nab("nyc_taxi", 30, 28),
    "jobs": nab("cpu_utilization_asg_misconfiguration", 5, 17),
    "burst": burst,
    "m-large": total("m-large"),
    "m-mid": total("m-mid"),
    "tweets": nab("Twitter_volume_AAPL", 5, 14),
}


def used(work, lead_s):
    """Share of judgements, one each six hours, after which the forecast decided."""
    work = work * PEAK / np.nanquantile(work, 0.999)
    gate = Gate(Terms(lambda: lead_s, 600.0, lambda: 0.95, 0.005, GRAIN))
    key = WorkloadKey("traces", "one")
    ladder = Ladder(key, here(shipped("own")), gate)
    ladder.fit(WorkSeries(key, 0, work[:0], np.zeros(0, np.bool_)))
    decided = []
    for minute, value in enumerate(work.tolist(), start=1):
        ladder.update(value)
        if minute % (DAY_MIN // 4) == 0 and minute > FROM * len(work):
            decided.append(ladder.peaks().worth.is_used)
    return np.mean(decided)


def main(folder, names):
    for name in names or SERIES:
        work = SERIES[name](folder)
        shares = " ".join(f"{lead_s:.0f} s: {used(work, lead_s):.0%}" for lead_s in LEADS_S)
        print(f"{name:8} {shares}", flush=True)  # noqa: T201 -- its output


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
