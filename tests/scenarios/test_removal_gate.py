"""May this step start? One row per situation, judged by ready capacity after it and in between.

A whole card carries 1.0, half a card 0.45, a seventh 0.1. Replicas are written as `"h!"`: the shape by
its letter (w whole, h half, s seventh), then `!` ready, `~` allocated but loading, `?` pending without a
device, `-` leaving.
"""

from dataclasses import dataclass, field, replace
from math import inf

import pytest

from actuator.gate import Terms, refusal
from fleet.change import Step, Verb
from fleet.cluster import Replica, Standing, Variant
from fleet.devices import Device
from fleet.restraints import Approval, DisruptionBudget
from fleet.shape import Shape
from fleet.workload import Mode, Router, WorkloadKey

SHAPES = {"w": Shape("h100-80gb"), "h": Shape("h100-80gb", "3g.40gb"), "s": Shape("h100-80gb", "1g.10gb")}
CAPACITIES = {SHAPES["w"]: 1.0, SHAPES["h"]: 0.45, SHAPES["s"]: 0.1}
DEVICE = Device("n", "n", "d", "mig", "GPU-0", None, {})


def standing(text):
    """One variant per letter, with its replicas; the first letter is the base."""
    replicas = {}
    for number, (letter, state) in enumerate(text.split()):
        device = None if state == "?" else DEVICE
        is_ready, is_leaving = state in "!-", state == "-"
        replicas.setdefault(letter, []).append(
            Replica(f"p{number}", letter, SHAPES[letter], device, is_ready, is_leaving, 0.0)
        )
    variants = tuple(
        Variant(letter, SHAPES[letter], sum(not r.is_leaving for r in found), "1", i == 0, tuple(found))
        for i, (letter, found) in enumerate(replicas.items())
    )
    return Standing(WorkloadKey("llm", "llama"), variants)


@dataclass(frozen=True)
class Case:
    """A step in a situation; `why` is part of the expected refusal, `None` = allowed."""

    name: str
    has: str
    step: str
    need_keep: float
    why: str | None = None
    router: Router = Router.WEIGHTED
    minimum: int = 1
    distrust: tuple[str, ...] = ()
    mode: Mode = Mode.FULL
    capacities: dict = field(default_factory=lambda: CAPACITIES)
    proven: str = "whs"

    def terms(self):
        return Terms(
            self.mode,
            self.router,
            self.minimum,
            self.capacities,
            self.need_keep,
            self.distrust,
            proven=frozenset(SHAPES[letter] for letter in self.proven),
        )

    def parsed(self):
        """`"h=1"` scales the variant of that letter to one replica, up or down from what it has."""
        letter, replicas = self.step.split("=")
        held = next((v for v in standing(self.has).variants if v.name == letter), None)
        is_less = held is not None and int(replicas) < held.wanted
        verb = Verb.SCALE_DOWN if is_less else Verb.SCALE_UP
        return Step(verb, letter, SHAPES[letter], int(replicas), "1", "why")


REMOVALS = [
    Case("what stays is on trial", "w! w! h!", "w=1", 1.2, "3g.40gb is on trial: until it is", proven="w"),
    Case("what stays beside a trial is enough", "w! w! h!", "w=1", 1.0, proven="w"),
    Case("the trial itself goes", "w! h!", "h=0", 1.0, proven="w"),
    Case("all that stands is on trial", "h! h! h!", "h=2", 0.9, proven="w"),
    Case("enough stays", "w! w!", "w=1", 1.0),
    Case("exactly enough stays", "w! w! w!", "w=2", 2.0),
    Case("too little stays", "w! w!", "w=1", 1.01, "carry 1.00, 1.01 must stay"),
    Case("enough but for the last bit of a float", "s! s! s! w!", "w=0", 0.3000000000000001),
    Case("it was short before", "w! w!", "w=1", 5.0, "carry 1.00, 5.00 must stay"),
    Case("nothing is needed", "w! w!", "w=1", 0.0),
    Case("the last one, nothing needed, minimum one", "w!", "w=0", 0.0, "nothing would be ready, at least 1"),
    Case("the last one where none need stay", "w!", "w=0", 0.0, minimum=0),
    Case("below the minimum though capacity would do", "w! w! w!", "w=1", 1.0, "at least 2", minimum=2),
    Case("the minimum itself", "w! w! w!", "w=2", 1.0, minimum=2),
    Case("the replacement is ready", "h! h! w!", "h=0", 1.0),
    Case("the replacement is loading", "h! h! w~", "h=0", 0.9, "nothing would be ready, at least 1"),
    Case("the replacement is pending", "h! h! w?", "h=0", 0.9, "nothing would be ready"),
    Case("the replacement is leaving", "h! h! w-", "h=0", 0.9, "nothing would be ready"),
    Case("what leaves already carries nothing", "w! w! w-", "w=1", 2.0, "carry 1.00, 2.00 must stay"),
    Case("a pending replica goes first", "w! w! w?", "w=2", 2.0),
    Case("of pending and ready only the pending go", "w! w! w? w?", "w=2", 2.0),
    Case("more go than are pending", "w! w! w?", "w=1", 2.0, "carry 1.00, 2.00 must stay"),
    Case("a loading one may stay instead of a ready one", "w! w! w~", "w=2", 2.0, "carry 1.00, 2.00"),
    Case("a loading one may stay, and that is enough", "w! w! w~", "w=2", 1.0),
    Case("nothing ready goes, but what is ready is too little", "w! w?", "w=1", 2.0, "carry 1.00, 2.00"),
    Case("another shape goes", "w! s! s!", "s=0", 1.0),
    Case("another shape goes and is missed", "w! s! s!", "s=0", 1.2, "carry 1.00, 1.20 must stay"),
    # A router that spreads equally is limited by the smallest replica.
    Case("equal: n x smallest stays", "h! h! h!", "h=2", 0.9, router=Router.EQUAL),
    Case("equal: n x smallest falls", "h! h! h!", "h=2", 0.91, "carry 0.90, 0.91", router=Router.EQUAL),
    Case("equal: without the small one the large ones are used", "w! w! s!", "s=0", 2.0, router=Router.EQUAL),
    Case("weighted: the same removal is not missed", "w! w! s!", "s=0", 2.0),
    Case("equal: all small ones leave in one write", "w! w! s! s!", "s=0", 1.9, router=Router.EQUAL),
    Case(
        "equal: one small one stays and holds the others down",
        "w! w! s! s!",
        "s=1",
        0.4,
        "would be ready and carry 0.30",
        router=Router.EQUAL,
    ),
    Case(
        "equal: a small one goes though a middle one is on its way",
        "s! w! h~",
        "s=0",
        1.0,
        router=Router.EQUAL,
    ),
    Case(
        "equal: what is on its way will hold the rest down too far",
        "w! w! w! h~",
        "w=2",
        1.5,
        "1 x 3g.40gb + 2 x whole would be ready and carry 1.35, 1.50 must stay",
        router=Router.EQUAL,
    ),
    Case("equal: what is on its way leaves enough", "w! w! w! h~", "w=2", 1.35, router=Router.EQUAL),
    Case(
        "equal: a pending small one is called off though it is short",
        "w! w! s?",
        "s=0",
        9.0,
        router=Router.EQUAL,
    ),
    Case("equal: the small one goes though it is short", "w! w! s!", "s=0", 9.0, router=Router.EQUAL),
    Case(
        "weighted: the small one is missed while it is short",
        "w! w! s!",
        "s=0",
        9.0,
        "carry 2.00, 9.00 must stay",
    ),
    Case(
        "what is on its way is needed", "w! h~", "h=0", 1.2, "1 x whole would be ready and carry 1.00, 1.20"
    ),
    Case("what is on its way is not needed", "w! h~", "h=0", 1.0),
    Case(
        "equal: of its own shape a smaller one is on its way",
        "w! s! s~",
        "s=1",
        1.0,
        "1 x 1g.10gb + 1 x whole would be ready and carry 0.20",
        router=Router.EQUAL,
    ),
    Case("equal: a larger one on its way is welcome", "h! h! w~", "h=1", 0.45, router=Router.EQUAL),
    Case("weighted: whatever is on its way is welcome", "s! w! h~", "s=0", 1.0),
    Case("least-loaded counts every replica in full", "w! h!", "h=0", 1.0, router=Router.LEAST_LOADED),
    # Evidence.
    Case(
        "untrusted",
        "w! w!",
        "w=1",
        0.0,
        "not trusted: 1 of 2 pods scraped",
        distrust=("1 of 2 pods scraped",),
    ),
    Case(
        "untrusted, though only pending ones go", "w! w?", "w=1", 0.0, "not trusted", distrust=("censored",)
    ),
    Case(
        "untrusted, and what goes carries nothing",
        "w! s!",
        "s=0",
        1.0,
        distrust=("stale",),
        capacities={SHAPES["w"]: 1.0},
    ),
    Case(
        "the shape's capacity is not known",
        "w! s! s!",
        "w=0",
        0.05,
        "carry 0.00",
        capacities={SHAPES["w"]: 1.0},
    ),
    Case("a shape of unknown capacity may go", "w! s!", "s=0", 1.0, capacities={SHAPES["w"]: 1.0}),
    # Modes.
    Case("scale-up-only", "w! w!", "w=1", 0.0, "mode scale-up-only removes nothing", mode=Mode.SCALE_UP_ONLY),
    Case("advise", "w! w!", "w=1", 0.0, "mode advise waits for the approval", mode=Mode.ADVISE),
    Case("off", "w! w!", "w=1", 0.0, "mode off removes nothing", mode=Mode.OFF),
]

ADDITIONS = [
    Case("more of the same", "w!", "w=2", 5.0),
    Case("the first one", "w?", "w=2", 5.0),
    Case("a larger one", "h!", "w=1", 5.0),
    Case("a smaller one, weighted", "w! w!", "s=1", 2.0),
    Case("a smaller one, least-loaded", "w! w!", "s=1", 2.0, router=Router.LEAST_LOADED),
    Case("equal: more of the same", "w!", "w=3", 5.0, router=Router.EQUAL),
    Case("equal: a larger one, held down but no less", "h!", "w=1", 5.0, router=Router.EQUAL),
    Case(
        "equal: a smaller one halves what is carried",
        "w! w!",
        "s=1",
        2.0,
        "would be ready and carry 0.30, 2.00 must stay",
        router=Router.EQUAL,
    ),
    Case("equal: a smaller one where little is needed", "w! w!", "s=1", 0.3, router=Router.EQUAL),
    Case(
        "equal: the first small ones carry less though all of them carry more",
        "h!",
        "s=9",
        0.4,
        "carry 0.20, 0.40",
        router=Router.EQUAL,
    ),
    Case("equal: many small ones that never carry less", "s!", "s=9", 0.9, router=Router.EQUAL),
    Case("equal: a smaller one while short, and it rises", "h!", "s=9", 0.2, router=Router.EQUAL),
    Case("equal: nothing is ready yet", "w~", "s=1", 5.0, router=Router.EQUAL),
    Case(
        "equal: a smaller one on untrusted evidence",
        "w! w!",
        "s=1",
        0.0,
        "not trusted: censored",
        router=Router.EQUAL,
        distrust=("censored",),
    ),
    Case("untrusted evidence adds what lowers nothing", "w!", "w=2", 5.0, distrust=("censored",)),
    Case("equal, untrusted, more of the same", "w!", "w=2", 5.0, router=Router.EQUAL, distrust=("stale",)),
    Case(
        "untrusted evidence adds what carries nothing",
        "w!",
        "s=1",
        1.0,
        distrust=("stale",),
        capacities={SHAPES["w"]: 1.0},
    ),
    Case("below the minimum adds", "w!", "w=2", 5.0, minimum=9),
    Case("scale-up-only adds", "w!", "w=2", 5.0, mode=Mode.SCALE_UP_ONLY),
    Case("advise", "w!", "w=2", 5.0, "mode advise waits for the approval", mode=Mode.ADVISE),
    Case("forecast-only", "w!", "w=2", 5.0, "mode forecast-only adds nothing", mode=Mode.FORECAST_ONLY),
]


def by_name(case):
    return case.name


def check(case, answer):
    if case.why is None:
        assert answer is None
    else:
        assert answer is not None
        assert case.why in answer
        assert "\n" not in answer


@pytest.mark.parametrize("case", REMOVALS, ids=by_name)
def test_removals(case):
    assert Verb.SCALE_DOWN is case.parsed().verb
    check(case, refusal(standing(case.has), case.parsed(), case.terms()))


@pytest.mark.parametrize("case", ADDITIONS, ids=by_name)
def test_additions(case):
    assert Verb.SCALE_UP is case.parsed().verb
    check(case, refusal(standing(case.has), case.parsed(), case.terms()))


RESTRAINED = {
    "a budget that lets enough go": ("w! w! w!", "w=1", {"budgets": (DisruptionBudget("web", 2),)}, None),
    "a budget that lets fewer go": (
        "w! w! w!",
        "w=1",
        {"budgets": (DisruptionBudget("web", 1),)},
        "PodDisruptionBudget web lets 1 ready replicas go, 2 would",
    ),
    "the tighter of two budgets": (
        "w! w!",
        "w=1",
        {"budgets": (DisruptionBudget("a", 5), DisruptionBudget("b", 0))},
        "PodDisruptionBudget b lets 0",
    ),
    "no ready replica is lost": ("w! w?", "w=1", {"budgets": (DisruptionBudget("web", 0),)}, None),
    "one that loads is not ready": (
        "w! w~",
        "w=1",
        {"budgets": (DisruptionBudget("web", 0),)},
        "lets 0 ready replicas go, 1 would",
    ),
    "budgets do not bind additions": ("w!", "w=2", {"budgets": (DisruptionBudget("web", 0),)}, None),
    "held by its owner": ("w! w!", "w=1", {"held_until_s": 1.0}, "its owner has it held"),
    "held, but no longer": ("w! w!", "w=1", {"held_until_s": 0.0}, None),
    "held, and it adds": ("w!", "w=2", {"held_until_s": 1.0}, None),
    "annotated to be asked": (
        "w!",
        "w=2",
        {"permits": Mode.ADVISE},
        "annotated mode advise waits for the approval of 2 x w",
    ),
    "annotated to be asked, and agreed to": (
        "w! w!",
        "w=1",
        {"permits": Mode.ADVISE, "approval": Approval("2 x w", inf)},
        None,
    ),
    "agreed to something else": (
        "w!",
        "w=2",
        {"permits": Mode.ADVISE, "approval": Approval("3 x w", inf)},
        "waits for the approval of 2 x w",
    ),
    "agreed to until now": (
        "w!",
        "w=2",
        {"permits": Mode.ADVISE, "approval": Approval("2 x w", 0.0)},
        "waits for the approval of 2 x w",
    ),
    "agreed to, but left alone": (
        "w!",
        "w=2",
        {"permits": Mode.FORECAST_ONLY, "approval": Approval("2 x w", inf)},
        "annotated mode forecast-only adds",
    ),
    "annotated to add only": (
        "w! w!",
        "w=1",
        {"permits": Mode.SCALE_UP_ONLY},
        "annotated mode scale-up-only removes",
    ),
    "annotated to add only, and it adds": ("w!", "w=2", {"permits": Mode.SCALE_UP_ONLY}, None),
    "annotated to be left alone": (
        "w!",
        "w=2",
        {"permits": Mode.FORECAST_ONLY},
        "annotated mode forecast-only adds",
    ),
}


@pytest.mark.parametrize("name", RESTRAINED)
def test_owners_may_restrict(name):
    has, step, restraint, why = RESTRAINED[name]
    case = Case(name, has, step, 0.0, why)
    terms = replace(case.terms(), goal="2 x w")
    check(case, refusal(replace(standing(has), **restraint), case.parsed(), terms))


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.FORECAST_ONLY])
def test_an_approval_permits_no_more_than_settings_do(mode):
    case = Case("agreed", "w!", "w=2", 0.0, mode=mode)
    agreed = replace(standing("w!"), approval=Approval("2 x w", inf))
    terms = replace(case.terms(), goal="2 x w")
    assert f"mode {mode.label} adds nothing" == refusal(agreed, case.parsed(), terms)


def test_what_is_agreed_to_still_passes_the_gate():
    case = Case("agreed", "w! w!", "w=1", 2.0, mode=Mode.ADVISE)
    agreed = replace(standing("w! w!"), approval=Approval("1 x w", inf))
    terms = replace(case.terms(), goal="1 x w")
    assert "carry 1.00, 2.00 must stay" in refusal(agreed, case.parsed(), terms)


def test_of_pods_one_of_which_is_to_be_spared_none_is_taken():
    seen = standing("w! w! h!")
    base, half = seen.variants
    marked = replace(base.replicas[1], spared_by="karpenter.sh/do-not-disrupt: true")
    seen = replace(seen, variants=(replace(base, replicas=(base.replicas[0], marked)), half))
    whole, other = (Case("", "w! w! h!", step, 0.0) for step in ("w=1", "h=0"))

    why = "pod p1 is not to be disrupted (karpenter.sh/do-not-disrupt: true)"
    assert why == refusal(seen, whole.parsed(), whole.terms())
    assert refusal(seen, other.parsed(), other.terms()) is None


@pytest.mark.parametrize("mode", Mode)
def test_a_copy_without_replicas_may_be_made_wherever_something_may_be_added(mode):
    create = Step(Verb.CREATE_VARIANT, "s", SHAPES["s"], 0, None, "why")
    terms = Terms(mode, Router.EQUAL, 1, CAPACITIES, 9.0, ("censored",))

    assert mode.may_add is (refusal(standing("w! w!"), create, terms) is None)


def test_nothing_is_removed_from_a_deployment_that_is_gone():
    step = Step(Verb.SCALE_DOWN, "s", SHAPES["s"], 0, "1", "why")
    terms = Terms(Mode.FULL, Router.WEIGHTED, 1, CAPACITIES, 0.0)

    assert "s is gone" == refusal(standing("w!"), step, terms)
