"""Which series are a workload's: its engines' labels, a router's, in all spellings."""

from predictor.engines import shipped
from predictor.sources.matching import Match, match_of, shown
from predictor.vocabulary import Vocabulary

LABELS = {"namespace": "prod", "model_name": "Org/Chat"}


def test_labels_alone_stand_for_any_engine_and_no_router():
    match = match_of(LABELS)
    [part] = match.parts()
    assert (LABELS, {}) == (part.labels, match.router)
    assert {"vllm", "sglang"} <= {engine.name for engine in match.vocabulary().engines}
    assert "dynamo-frontend" not in {engine.name for engine in match.vocabulary().engines}


def test_a_match_is_taken_as_it_is():
    match = Match(LABELS, router={"model": "Org/Chat"})
    assert match is match_of(match)


def test_a_router_has_labels_and_words_of_its_own():
    engines, router = Match(LABELS, router={"model": "Org/Chat"}).parts()
    assert {"Org/Chat"} == engines.spellings("model_name")
    assert {"Org/Chat", "org/chat"} == router.spellings("model")
    names = [{one.name for one in part.vocabulary.engines} for part in (engines, router)]
    assert not names[0] & names[1]


def test_one_of_several_values():
    [part] = Match({"model_name": ("a", "b")}, engines=Vocabulary([shipped()["vllm"]])).parts()
    assert {"a", "b"} == part.spellings("model_name")


def test_labels_as_people_write_them():
    assert "namespace=prod, model_name=a or b" == shown({"namespace": "prod", "model_name": ("a", "b")})
