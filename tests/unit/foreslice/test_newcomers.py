"""Who is new, by what was seen when."""

from dataclasses import replace

from foreslice.newcomers import Newcomers
from tests.builders.fleet import NOW_S, fleet, key, running, standing

CHAT = key("chat")


def seen(*ready_at_s):
    """A fleet in which pods of one workload are ready since then."""
    whole = running(fleet(1), standing("chat", f"{len(ready_at_s)} x 1g.10gb"))
    [stands] = whole.standings
    pods = zip(stands.own.replicas, ready_at_s, strict=True)
    own = replace(stands.own, replicas=tuple(replace(pod, ready_at_s=at_s) for pod, at_s in pods))
    return replace(whole, standings=(replace(stands, variants=(own,)),))


def test_a_view_that_is_older_than_the_last_tells_of_nobody_who_was_lost():
    """A tick that waits for its metrics looks at its view after a plan has looked at a newer one."""
    before, after = seen(NOW_S - 3600), seen(NOW_S - 3600, NOW_S)
    new = {CHAT: {after.standings[0].own.replicas[-1].pod}}
    newcomers = Newcomers()
    newcomers.look(before, NOW_S - 10)
    assert new == newcomers.look(after, NOW_S + 1)
    assert {} == newcomers.look(before, NOW_S)
    assert new == newcomers.look(after, NOW_S + 10)
