"""An engine iteration by iteration: continuous batching with chunked prefill, under a law."""

from collections import deque
from dataclasses import dataclass, field

from capacity.law import TOKEN_BUDGET
from capacity.replica import MAX_BATCH


@dataclass
class Request:
    """One request on its way through an engine; times in ms."""

    arrived: float
    prompt: int
    output: int
    prefilled: int = 0
    emitted: list = field(default_factory=list)

    @property
    def room(self):
        return self.prompt + self.output / 2

    @property
    def ttft(self):
        return self.emitted[0] - self.arrived

    @property
    def e2e(self):
        return self.emitted[-1] - self.arrived

    @property
    def itl(self):
        return (self.emitted[-1] - self.emitted[0]) / (len(self.emitted) - 1)


def arrivals(mix, rate, duration_ms, chance):
    """Requests at random times with lengths that spread as widely as an exponential's."""
    now, queue = 0.0, deque()
    while now < duration_ms:
        now += 1000 * chance.expovariate(rate)
        prompt, output = (
            1 + int(chance.expovariate(1 / mean)) for mean in (mix.prompt_tokens, mix.output_tokens)
        )
        queue.append(Request(now, prompt, output))
    return queue


def serve(law, room, coming):
    """Serve all requests by continuous batching with chunked prefill, decodes first; return them finished."""
    now, running, finished = 0.0, [], []
    while coming or running:
        while coming and coming[0].arrived <= now and len(running) < MAX_BATCH:
            if sum(request.room for request in running) + coming[0].room > room:
                break
            running.append(coming.popleft())
        if not running:
            now = coming[0].arrived
            continue
        decoding = [request for request in running if request.prefilled == request.prompt]
        tokens, context = len(decoding), sum(request.prompt + len(request.emitted) for request in decoding)
        emitting = decoding
        for request in running:
            part = min(request.prompt - request.prefilled, TOKEN_BUDGET - tokens)
            if part > 0:
                request.prefilled += part
                tokens, context = tokens + part, context + request.prefilled
                if request.prefilled == request.prompt:
                    emitting = [*emitting, request]
        now += law.iteration_ms(tokens, context)
        for request in emitting:
            request.emitted.append(now)
        finished += [request for request in emitting if len(request.emitted) == request.output]
        running = [request for request in running if len(request.emitted) < request.output]
    return finished
