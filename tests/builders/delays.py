"""Delays that are always the same (`simulator.delays.Delays`)."""


class Always:
    """So many seconds each."""

    def __init__(self, schedule_s=0.5, prepare_s=1.0, image_s=1.0, engine_init_s=6.0):
        self._schedule_s, self._prepare_s, self._image_s = schedule_s, prepare_s, image_s
        self._engine_init_s = engine_init_s

    def schedule_s(self, _pod):
        return self._schedule_s

    def prepare_s(self, _pod):
        return self._prepare_s

    def image_s(self, _pod):
        return self._image_s

    def engine_init_s(self, _pod):
        return self._engine_init_s


AT_ONCE = Always(prepare_s=0.1, image_s=0.1, engine_init_s=1.0)
"""For tests that wait in real time."""
