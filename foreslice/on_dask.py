"""Work done on a Dask cluster that is there already, whose workers have the same foreslice installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet.errors import InputError, UnavailableError
from predictor.spread import Item, Result, Shared, Spread

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = "5s"
"""How long a scheduler may take to answer at first."""


@contextmanager
def on_dask(scheduler: str) -> Iterator[Spread]:
    """Have work done by the workers of a scheduler.

    A worker that is lost loses nothing: what it held is made again from what the scheduler was told.

    Args:
        scheduler: Its address, e.g. tcp://dask-scheduler:8786.

    Raises:
        InputError: Dask is not installed, or the address is none.
        UnavailableError: The scheduler does not answer.
    """
    try:
        from distributed import Client  # noqa: PLC0415 -- an optional extra
    except ImportError as error:
        raise InputError(
            "needs Dask, which is not installed", where="--backend dask", fix="install foreslice[dask]"
        ) from error
    try:
        client = Client(scheduler, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise InputError(
            f"{scheduler!r} is no address ({error})", where="--scheduler", fix="write tcp://HOST:8786"
        ) from error
    except (OSError, TimeoutError) as error:
        raise UnavailableError(f"the Dask scheduler {scheduler} does not answer: {error}") from error
    with client:
        yield _Workers(client)


class _Workers:
    def __init__(self, client: Client) -> None:
        self._client = client

    def __call__(
        self, work: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> list[Result]:
        # Not scattered: data that was scattered is gone with the worker that held it.
        sent = self._client.submit(_same, shared, pure=False)
        futures = self._client.map(work, items, [sent] * len(items), pure=False)
        done: list[Result] = self._client.gather(futures)  # type: ignore[no-untyped-call]
        return done


def _same(shared: Shared) -> Shared:
    return shared
