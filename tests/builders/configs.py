"""Models as their config.json on Hugging Face describes them."""


def config(kind, layers, hidden, heads, kv_heads, width, vocabulary, longest=4096, **more):
    """The fields that every architecture has, and more."""
    return {
        "architectures": [kind],
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": width,
        "vocab_size": vocabulary,
        "max_position_embeddings": longest,
        "torch_dtype": "bfloat16",
        **more,
    }


LLAMA_8B = config("LlamaForCausalLM", 32, 4096, 32, 8, 14_336, 128_256, 131_072)
