"""What simulated engines say, in the words of other engines than vLLM."""

import re

_LINE = re.compile(r"^vllm:(\w+)\{(.*)\} (\S+)$", re.MULTILINE)

SGLANG = {
    "num_requests_running": "num_running_reqs",
    "num_requests_waiting": "num_queue_reqs",
    "kv_cache_usage_perc": "token_usage",
    "prompt_tokens_total": "prompt_tokens_total",
    "generation_tokens_total": "generation_tokens_total",
    "time_to_first_token_seconds_sum": "time_to_first_token_seconds_sum",
    "time_to_first_token_seconds_count": "time_to_first_token_seconds_count",
}


def readings(text):
    """Return the readings of vLLM's text by name, those of several labels added up; buckets are left out."""
    told = {}
    for name, _, value in _LINE.findall(text):
        if not name.endswith("_bucket"):
            told[name] = told.get(name, 0.0) + float(value)
    return told


def as_sglang(text, model, ranks=2):
    """Return what SGLang would say; every rank of its tensor parallel group says it."""
    told = readings(text)
    named = {SGLANG[name]: value for name, value in told.items() if name in SGLANG}
    named["num_requests_total"] = told["request_success_total"]
    return "".join(
        f'sglang:{name}{{engine_type="unified",model_name="{model}",pp_rank="0",tp_rank="{rank}"}} {value}\n'
        for name, value in named.items()
        for rank in range(ranks)
    )


def as_tgi(text, refused=0.0):
    """Return what Text Generation Inference would say: what came is counted, no label says the model."""
    told = readings(text)
    done, running, waiting = (
        told[name] for name in ("request_success_total", "num_requests_running", "num_requests_waiting")
    )
    named = {
        "tgi_request_count": done + running + waiting + refused,
        "tgi_request_success": done,
        'tgi_request_failure{err="overloaded"}': refused,
        "tgi_batch_current_size": running,
        "tgi_queue_size": waiting,
        "tgi_batch_current_max_tokens": told["kv_cache_usage_perc"] * 1e5,
        "tgi_batch_max_total_tokens": 1e5,
        "tgi_request_input_length_sum": told["prompt_tokens_total"],
        "tgi_request_generated_tokens_sum": told["generation_tokens_total"],
    }
    return "".join(f"{name} {value}\n" for name, value in named.items())


def as_dynamo_frontend(text, model, refused=0.0):
    """Return what Dynamo's frontend would say in front of that engine."""
    told = readings(text)
    inside = told["num_requests_running"] + told["num_requests_waiting"]
    done = told["request_success_total"]
    about = f'model="{model.lower()}",endpoint="chat_completions",request_type="stream"'
    ended = "dynamo_frontend_requests_total"
    return (
        f"dynamo_frontend_requests_started_total{{{about}}} {done + inside + refused}\n"
        f'{ended}{{{about},status="success",error_type=""}} {done}\n'
        f'{ended}{{{about},status="error",error_type="overload"}} {refused}\n'
        f'dynamo_frontend_inflight_requests{{model="{model.lower()}"}} {inside}\n'
    )
