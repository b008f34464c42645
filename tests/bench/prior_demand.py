"""The demand that the shipped prior is learnt from, a tidy CSV of five-minute steps: see `make prior`."""

import sys
from pathlib import Path

import pandas as pd

STEP_S = 300
DAY_S = 86_400
DAYS = 62
"""Days that the longest has."""

TWEETS = ["Twitter_volume_AAPL", "Twitter_volume_CVS", "Twitter_volume_KO"]
HOURLY = ["cpu_utilization_asg_misconfiguration"]


def tenants(folder: Path) -> pd.DataFrame:
    """Tokens/s of the clients of m-large; those of m-mid are left out, to try the prior on."""
    rows = pd.read_csv(folder / "servegen" / "fleet_10min.csv.gz")
    rows = rows[rows.workload.str.startswith("m-large/")]
    value = rows.prompt_tokens_per_s + rows.output_tokens_per_s
    tidy = pd.DataFrame({"series": rows.workload, "at_s": rows.t_s, "value": value})
    return pd.concat([tidy, tidy.assign(at_s=tidy.at_s + STEP_S)])


def counts(folder: Path) -> pd.DataFrame:
    """Tweets by five minutes, and the load of a group of machines with hourly jobs."""
    rows = pd.read_csv(folder / "nab" / "series.csv.gz", parse_dates=["timestamp"])
    rows = rows[rows.series.isin(TWEETS + HOURLY)]
    at_s = (rows.timestamp - rows.timestamp.min().normalize()).dt.total_seconds().astype(int)
    return rows.assign(at_s=at_s // STEP_S * STEP_S)[["series", "at_s", "value"]]


def main(folder: Path, out: Path) -> None:
    """Write the CSV. All series end on the same day, so that all are tried on the last days."""
    tidy = pd.concat([tenants(folder), counts(folder)]).drop_duplicates(["series", "at_s"])
    last_day = tidy.groupby("series").at_s.transform("max") // DAY_S
    at_s = tidy.at_s + (DAYS - last_day) * DAY_S
    tidy["timestamp"] = pd.to_datetime(at_s, unit="s", utc=True).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    out.parent.mkdir(parents=True, exist_ok=True)
    tidy.sort_values(["series", "timestamp"])[["series", "timestamp", "value"]].to_csv(out, index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
