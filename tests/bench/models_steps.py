"""Further steps of language models for bench_models.py: the prefill of a prompt, a step of Muon, an encoder with
relative positions."""
import jax
import jax.numpy as jnp
import numpy as np

from models_language import llama_weights, rotary
from models_tools import bf16, cross_entropy, integers, model, normal, ones, rms_norm, zeros_like

prefill_weights = llama_weights(3, 512, 8, 2, 1408, 8192)


@model("llama_prefill_bf16", jax.tree.map(lambda x: x.astype(bf16), prefill_weights), integers(0, 8192, 2, 128))
def llama_prefill_bf16(w, prompt):
    """The caches of a prompt, and the logits of its last token, from layers that Python's loop walks."""
    x, caches, positions = w["embed"][prompt], [], jnp.arange(prompt.shape[1])
    for i in range(w["layers"]["q"].shape[0]):
        layer = jax.tree.map(lambda a: a[i], w["layers"])
        y = rms_norm(x, layer["ln1"])
        q = rotary(jnp.einsum("ntd,dhe->nthe", y, layer["q"]), positions)
        k = rotary(jnp.einsum("ntd,dhe->nthe", y, layer["k"]), positions)
        v = jnp.einsum("ntd,dhe->nthe", y, layer["v"])
        x = x + jnp.einsum("nthe,hed->ntd", jax.nn.dot_product_attention(q, k, v, is_causal=True), layer["o"])
        y = rms_norm(x, layer["ln2"])
        x = x + (jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
        caches.append((k, v))
    return (rms_norm(x, w["ln"]) @ w["head"])[:, -1].astype(jnp.float32), caches


# --- Muon: momentum made orthogonal by Newton-Schulz steps

muon_weights = [normal(256, 512, scale=.06), normal(512, 512, scale=.04), normal(512, 128, scale=.04)]


def orthogonal(x):
    turned = x.shape[0] > x.shape[1]
    x = x.T if turned else x
    x = x / (jnp.linalg.norm(x) + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x.T if turned else x


@model("muon_step", muon_weights, zeros_like(muon_weights), normal(128, 256), integers(0, 128, 128))
def muon_step(w, momentum, x, labels):
    def loss(w):
        return cross_entropy(jax.nn.relu(jax.nn.relu(x @ w[0]) @ w[1]) @ w[2], labels)
    value, g = jax.value_and_grad(loss)(w)
    momentum = jax.tree.map(lambda m, g: 0.95 * m + g, momentum, g)
    return value, jax.tree.map(lambda p, m: p - 0.02 * orthogonal(m), w, momentum), momentum


# --- T5's encoder: biases of attention by the distance of positions, without a scale of the scores

t5_weights = {"embed": normal(4000, 256), "bias": normal(32, 4), "ln": ones(256),
              "layers": [{"qkv": normal(256, 3, 4, 64, scale=.06), "o": normal(4, 64, 256, scale=.06),
                          "gate": normal(256, 512, scale=.06), "up": normal(256, 512, scale=.06),
                          "down": normal(512, 256, scale=.04), "ln1": ones(256), "ln2": ones(256)} for _ in range(3)]}


def bucket(distance):
    far = 8 + (jnp.log(jnp.maximum(jnp.abs(distance), 1) / 8) / np.log(16) * 8).astype(jnp.int32)
    near = jnp.where(jnp.abs(distance) < 8, jnp.abs(distance), jnp.minimum(far, 15))
    return near + 16 * (distance > 0)


@model("t5_encode", t5_weights, integers(0, 4000, 4, 160), integers(80, 161, 4))
def t5_encode(w, tokens, lengths):
    at = jnp.arange(160)
    hidden = jnp.where(at < lengths[:, None, None, None], 0, -1e9)
    bias = w["bias"][bucket(at - at[:, None])].transpose(2, 0, 1) + hidden
    x = w["embed"][tokens]
    for layer in w["layers"]:
        q, k, v = jnp.einsum("ntd,dche->cnhte", rms_norm(x, layer["ln1"]), layer["qkv"])
        mixed = jax.nn.softmax(q @ k.swapaxes(-1, -2) + bias) @ v
        x = x + jnp.einsum("nhte,hed->ntd", mixed, layer["o"])
        y = rms_norm(x, layer["ln2"])
        x = x + (jax.nn.gelu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
    return rms_norm(x, w["ln"])
