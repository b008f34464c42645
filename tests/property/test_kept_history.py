"""Whatever is asked in whatever order, and whatever happens to the files, the kept past is the source's."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.ports import SignalBuckets
from predictor.sources.kept import KeptSource

KEYS = [WorkloadKey("prod", name) for name in ("a", "b")]
SIGNALS = (Signal.COMPLETIONS, Signal.WAITING)
START_S = 1_772_323_200 - 7200  # two hours before a new day
MINUTES = 600


class Source:
    """Tells the minute by workload and signal, every seventh unknown; of some spans it may not have all."""

    def __init__(self):
        self.partial_s = ()

    def samples(self, signals, workloads, start_s, end_s):
        return {
            key: SignalBuckets(
                key,
                start_s,
                {signal: self._row(key, signal, start_s, end_s) for signal in signals},
                self.partial_s,
            )
            for key in workloads
        }

    def _row(self, key, signal, start_s, end_s):
        row = expected(key, signal, start_s, end_s)
        times = np.arange(start_s, end_s, 60)
        for since_s, until_s in self.partial_s:
            row[(times >= since_s) & (times < until_s)] = np.nan
        return row


def expected(key, signal, start_s, end_s):
    minutes = np.arange(start_s, end_s, 60) // 60
    return np.where(minutes % 7 == 0, np.nan, minutes + len(key.name) + SIGNALS.index(signal) / 2)


SPANS = st.tuples(st.integers(0, MINUTES), st.integers(0, MINUTES)).map(sorted)
ASK = st.tuples(st.just("ask"), SPANS, st.sampled_from([KEYS, KEYS[:1]]), st.none() | SPANS)
HAPPENINGS = st.tuples(
    st.sampled_from(["restart", "delete", "damage", "lose"]), st.none(), st.none(), st.none()
)


@settings(deadline=None, max_examples=60)
@given(happenings=st.lists(ASK | HAPPENINGS, max_size=12))
def test_the_kept_past_is_the_sources(happenings):
    with tempfile.TemporaryDirectory() as root:
        folder, source = Path(root) / "past", Source()

        def start():
            return KeptSource(source, folder, dict.fromkeys(KEYS, "x"), SIGNALS, 1e9)

        kept = start()
        for what, span, keys, partial in happenings:
            if what == "ask":
                start_s, end_s = (START_S + 60 * minute for minute in span)
                source.partial_s = () if partial is None else (tuple(START_S + 60 * m for m in partial),)
                told = kept.samples(SIGNALS, keys, start_s, end_s)
                check(told, keys, start_s, end_s, source.partial_s)
            elif what == "restart":
                kept = start()
            elif what == "lose":
                shutil.rmtree(folder)
                folder.mkdir()
            for path in sorted(folder.iterdir())[:1]:
                if what == "delete":
                    path.unlink()
                elif what == "damage":
                    path.write_bytes(path.read_bytes()[:40] + b"x" + path.read_bytes()[41:])


def check(told, keys, start_s, end_s, partial_s):
    """A bucket is what the source says of it, or unknown where it said that it may not have all."""
    for key in keys:
        for signal in SIGNALS:
            row, right = told[key].values[signal], expected(key, signal, start_s, end_s)
            assert len(right) == len(row)
            times = np.arange(start_s, end_s, 60)
            is_partial = np.zeros(len(row), dtype=bool)
            for since_s, until_s in partial_s:
                is_partial |= (times >= since_s) & (times < until_s)
            np.testing.assert_array_equal(right[~is_partial], row[~is_partial])
            assert (np.isnan(row) | (row == right))[is_partial].all()
