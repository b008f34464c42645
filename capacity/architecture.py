"""What a decoder-only transformer is made of, and what follows from it: weights, and context per token."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Experts:
    """Experts of the layers that have them.

    Attributes:
        count: Experts of a layer.
        active: Experts that compute one token.
        width: Inner width of one.
        shared_width: Inner width of the expert that computes every token, 0 without one.
        dense_layers: Layers without experts.
        has_shared_gate: Whether a gate scales the shared expert.
        has_bias: Whether the router adds a bias to each expert's score.
    """

    count: int
    active: int
    width: int
    shared_width: int = 0
    dense_layers: int = 0
    has_shared_gate: bool = False
    has_bias: bool = False


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention: keys and values are kept as one compressed vector a token.

    Attributes:
        query_rank: Width of the compressed query, 0 where queries are not compressed.
        kv_rank: Width of the compressed keys and values.
        nope_dim: Width of a head's key without position.
        rope_dim: Width of the key with position, shared by all heads.
        value_dim: Width of a head's value.
    """

    query_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a model, by the fields of its config.json.

    Attributes:
        layers: Transformer layers.
        hidden: Width of the residual stream.
        heads: Query heads of a layer.
        kv_heads: Key-value heads of a layer: 1 = multi-query, as many as `heads` = multi-head.
        head_dim: Width of a head.
        width: Inner width of the (gated) MLP.
        vocabulary: Tokens.
        max_len: Longest sequence that positions are made for.
        is_tied: Whether embedding and output head are one table.
        has_qkv_bias: Whether queries, keys and values have biases.
        has_output_bias: Whether the output of attention has one.
        has_qk_norm: Whether queries and keys are normalised by head.
        norms: Normalisations of a layer as wide as `hidden`.
        experts: Experts, `None` in a dense model.
        latent: Latent attention, `None` where keys and values are kept as they are.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int
    vocabulary: int
    max_len: int
    is_tied: bool = False
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_qk_norm: bool = False
    norms: int = 2
    experts: Experts | None = None
    latent: Latent | None = None

    @property
    def parameters(self) -> int:
        """Weights in all."""
        outside = self.table_parameters + self.hidden
        return outside + self.layers * (self._attention + self.norms * self.hidden) + self._feed_forward

    @property
    def table_parameters(self) -> int:
        """Weights of the embedding and the output head."""
        return (1 if self.is_tied else 2) * self.vocabulary * self.hidden

    @property
    def expert_parameters(self) -> int:
        """Weights of all experts among which a router chooses."""
        if self.experts is None:
            return 0
        return (
            (self.layers - self.experts.dense_layers) * self.experts.count * self._gated(self.experts.width)
        )

    @property
    def active_parameters(self) -> int:
        """Weights that compute one token."""
        if self.experts is None:
            return self.parameters
        idle = self.experts.count - self.experts.active
        return self.parameters - self.expert_parameters * idle // self.experts.count

    @property
    def kv_elements(self) -> int:
        """Elements of the KV cache that a token takes, over all layers."""
        if self.latent is not None:
            return self.layers * (self.latent.kv_rank + self.latent.rope_dim)
        return 2 * self.layers * self.kv_heads * self.head_dim

    def kv_copies(self, cards: int) -> int:
        """Return on how many of `cards` an element of the cache is kept: on one, while heads last."""
        return cards if self.latent is not None else max(1, -(-cards // self.kv_heads))

    def touched(self, tokens: int) -> float:
        """Return the share of a layer's experts that an iteration with so many tokens has to read."""
        if self.experts is None:
            return 1.0
        return 1 - (1 - self.experts.active / self.experts.count) ** tokens

    @property
    def _attention(self) -> int:
        if self.latent is not None:
            return self._latent_attention(self.latent)
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        weights = 2 * self.hidden * queries + 2 * self.hidden * keys
        biases = self.has_qkv_bias * (queries + 2 * keys) + self.has_output_bias * self.hidden
        return weights + biases + self.has_qk_norm * 2 * self.head_dim

    def _latent_attention(self, latent: Latent) -> int:
        queries = self.heads * (latent.nope_dim + latent.rope_dim)
        rank = latent.query_rank
        query = rank * (self.hidden + 1 + queries) if rank else self.hidden * queries
        down = self.hidden * (latent.kv_rank + latent.rope_dim) + latent.kv_rank
        up = latent.kv_rank * self.heads * (latent.nope_dim + latent.value_dim)
        return query + down + up + self.heads * latent.value_dim * self.hidden

    @property
    def _feed_forward(self) -> int:
        if self.experts is None:
            return self.layers * self._gated(self.width)
        experts = self.experts
        router = experts.count * (self.hidden + experts.has_bias)
        shared = self._gated(experts.shared_width) + experts.has_shared_gate * self.hidden
        sparse_layers = self.layers - experts.dense_layers
        dense = experts.dense_layers * self._gated(self.width)
        return dense + sparse_layers * (router + shared) + self.expert_parameters

    def _gated(self, width: int) -> int:
        return 3 * self.hidden * width
