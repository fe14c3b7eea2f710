"""Language models of bench_models.py: training steps, decoding, mixtures of experts, state-space models."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from models_tools import adamw, bf16, cross_entropy, f32, integers, layer_norm, model, normal, ones, rms_norm, rng, zeros_like

# --- transformers: training

def block_weights(d, ff):
    return {"ln1": (ones(d), 0 * ones(d)), "ln2": (ones(d), 0 * ones(d)), "qkv": normal(d, 3, d, scale=.02),
            "qkv_bias": np.zeros((3, d), f32), "out": normal(d, d, scale=.02), "out_bias": np.zeros(d, f32),
            "up": normal(d, ff, scale=.02), "up_bias": np.zeros(ff, f32), "down": normal(ff, d, scale=.02),
            "down_bias": np.zeros(d, f32)}


def attention_by_hand(q, k, v, mask):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(f32)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def block(w, x, heads, attend):
    n, t, d = x.shape
    q, k, v = jnp.moveaxis(jnp.einsum("btd,dce->btce", layer_norm(x, *w["ln1"]), w["qkv"]) + w["qkv_bias"], 2, 0)
    split = lambda a: a.reshape(n, t, heads, d // heads)
    x = x + attend(split(q), split(k), split(v)).reshape(n, t, d) @ w["out"] + w["out_bias"]
    return x + jax.nn.gelu(layer_norm(x, *w["ln2"]) @ w["up"] + w["up_bias"]) @ w["down"] + w["down_bias"]


gpt_weights = {"embed": normal(8192, 384, scale=.02), "position": normal(128, 384, scale=.02),
               "blocks": [block_weights(384, 1536) for _ in range(4)], "ln": (ones(384), 0 * ones(384))}


@model("gpt2_adamw", gpt_weights, zeros_like(gpt_weights), zeros_like(gpt_weights), integers(0, 8192, 2, 129), f32(7))
def gpt2_adamw(w, m, v, tokens, step):
    def loss(w):
        mask = jnp.tril(jnp.ones((128, 128), bool))
        x = w["embed"][tokens[:, :-1]] + w["position"]
        for b in w["blocks"]:
            x = block(b, x, 6, lambda q, k, v: attention_by_hand(q, k, v, mask))
        return cross_entropy(layer_norm(x, *w["ln"]) @ w["embed"].T, tokens[:, 1:])
    value, g = jax.value_and_grad(loss)(w)
    return value, adamw(w, m, v, g, step)


bert_weights = {"embed": normal(8000, 256, scale=.02), "position": normal(256, 256, scale=.02),
                "blocks": [block_weights(256, 1024) for _ in range(4)], "ln": (ones(256), 0 * ones(256))}


@model("bert_mlm_grad", bert_weights, integers(0, 8000, 4, 256), integers(100, 257, 4), integers(0, 256, 4, 38))
def bert_mlm_grad(w, tokens, lengths, masked):
    valid = (jnp.arange(256) < lengths[:, None])[:, None, None, :]

    def loss(w):
        x = layer_norm(w["embed"][tokens] + w["position"], *w["ln"])
        for b in w["blocks"]:
            x = block(b, x, 4, lambda q, k, v: jax.nn.dot_product_attention(q, k, v, mask=valid))
        picked = jnp.take_along_axis(x, masked[..., None], 1)
        return cross_entropy(picked @ w["embed"].T, jnp.take_along_axis(tokens, masked, 1))
    return jax.value_and_grad(loss)(w)


vit_weights = {"patch": normal(768, 384, scale=.02), "class": normal(1, 1, 384),
               "position": normal(197, 384, scale=.02),
               "blocks": [block_weights(384, 1536) for _ in range(3)], "head": normal(384, 100, scale=.02)}


@model("vit_s16_grad", vit_weights, normal(2, 224, 224, 3), integers(0, 100, 2))
def vit_s16_grad(w, images, labels):
    def loss(w):
        x = images.reshape(2, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 196, 768) @ w["patch"]
        x = jnp.concatenate([jnp.broadcast_to(w["class"], (2, 1, 384)), x], 1) + w["position"]
        for b in w["blocks"]:
            x = block(b, x, 6, jax.nn.dot_product_attention)
        return cross_entropy(x[:, 0] @ w["head"], labels)
    return jax.value_and_grad(loss)(w)


# --- a Llama: rotary embeddings, grouped heads, gated feed-forward layers that a scan walks

def llama_weights(layers, d, heads, groups, ff, vocabulary):
    h = d // heads
    make = lambda *shape: normal(layers, *shape, scale=.03)
    return {"embed": normal(vocabulary, d, scale=.05), "head": normal(d, vocabulary, scale=.05), "ln": ones(d),
            "layers": {"q": make(d, heads, h), "k": make(d, groups, h), "v": make(d, groups, h), "o": make(heads, h, d),
                       "gate": make(d, ff), "up": make(d, ff), "down": make(ff, d), "ln1": ones(layers, d),
                       "ln2": ones(layers, d)}}


def rotary(x, position):
    half = x.shape[-1] // 2
    angle = position[..., None] * (1e4 ** (-jnp.arange(half, dtype=jnp.float32) / half))
    cos, sin = jnp.cos(angle)[..., None, :].astype(x.dtype), jnp.sin(angle)[..., None, :].astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def llama_decode(w, prompt, steps, window, given=None):
    """Greedy decoding with caches of keys and values that the scan over layers updates. `given`: tokens that take the
    place of the most probable ones where they are not negative; then the result is the logits of all steps."""
    layers, n = w["layers"]["q"].shape[0], prompt.shape[0]
    groups, h = w["layers"]["k"].shape[2:]
    cache = jnp.zeros((layers, n, window, groups, h), w["embed"].dtype)

    def decode(state, given):
        token, position, keys, values = state
        x = w["embed"][token]

        def layer(x, scanned):
            w, k, v = scanned
            y = rms_norm(x, w["ln1"])
            at = jnp.full((n,), position)
            q = rotary(jnp.einsum("nd,dhe->nhe", y, w["q"]), at)
            k = lax.dynamic_update_slice(k, rotary(jnp.einsum("nd,dhe->nhe", y, w["k"]), at)[:, None],
                                         (0, position, 0, 0))
            v = lax.dynamic_update_slice(v, jnp.einsum("nd,dhe->nhe", y, w["v"])[:, None], (0, position, 0, 0))
            q = q.reshape(n, groups, -1, h)
            scores = jnp.einsum("ngre,nwge->ngrw", q, k).astype(jnp.float32) / np.sqrt(h).astype(f32)
            scores = jnp.where(jnp.arange(window) <= position, scores, -1e30)
            mixed = jnp.einsum("ngrw,nwge->ngre", jax.nn.softmax(scores).astype(x.dtype), v)
            x = x + jnp.einsum("nhe,hed->nd", mixed.reshape(n, -1, h), w["o"])
            y = rms_norm(x, w["ln2"])
            return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"], (k, v)
        x, (keys, values) = lax.scan(layer, x, (w["layers"], keys, values))
        logits = (rms_norm(x, w["ln"]) @ w["head"]).astype(jnp.float32)
        token = jnp.argmax(logits, -1).astype(jnp.int32)
        if given is not None:
            token = jnp.where(given < 0, token, given)
        return (token, position + 1, keys, values), token if given is None else logits
    return lax.scan(decode, (prompt, jnp.int32(0), cache, cache), given, length=steps)[1]


decode_weights = llama_weights(6, 512, 8, 2, 1408, 8192)


@model("llama_decode", decode_weights, integers(0, 8192, 1))
def llama_decode_f32(w, prompt):
    return llama_decode(w, prompt, 8, 256)


@model("llama_decode_bf16", jax.tree.map(lambda x: x.astype(bf16), decode_weights), integers(0, 8192, 1),
       integers(0, 8192, 8, 1))
def llama_decode_bf16(w, prompt, given):
    """The largest logits are often equal in bf16: with given tokens all steps can be compared."""
    return llama_decode(w, prompt, 8, 256, given)


@model("llama_decode_batch8", decode_weights, integers(0, 8192, 8))
def llama_decode_batch8(w, prompt):
    return llama_decode(w, prompt, 8, 256)


remat_weights = llama_weights(4, 256, 4, 2, 704, 4096)


@model("llama_scan_remat", remat_weights, zeros_like(remat_weights), integers(0, 4096, 2, 129))
def llama_scan_remat(w, momentum, tokens):
    """Lion over a scan of rematerialised layers."""
    positions = jnp.arange(128)

    def layer(x, w):
        y = rms_norm(x, w["ln1"])
        q = rotary(jnp.einsum("ntd,dhe->nthe", y, w["q"]), positions)
        k = rotary(jnp.einsum("ntd,dhe->nthe", y, w["k"]), positions)
        mixed = jax.nn.dot_product_attention(q, k, jnp.einsum("ntd,dhe->nthe", y, w["v"]), is_causal=True)
        x = x + jnp.einsum("nthe,hed->ntd", mixed, w["o"])
        y = rms_norm(x, w["ln2"])
        return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"], None

    def loss(w):
        x, _ = lax.scan(jax.checkpoint(layer), w["embed"][tokens[:, :-1]], w["layers"])
        return cross_entropy(rms_norm(x, w["ln"]) @ w["head"], tokens[:, 1:])
    value, g = jax.value_and_grad(loss)(w)
    update = jax.tree.map(lambda m, g: jnp.tanh(1e3 * (0.9 * m + 0.1 * g)), momentum, g)
    return value, jax.tree.map(lambda p, u: p - 1e-4 * (u + 0.1 * p), w, update), \
        jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g, momentum, g)


@model("int8_ffn", rng.integers(-127, 127, (512, 2048)).astype(np.int8),
       rng.integers(-127, 127, (2048, 512)).astype(np.int8),
       normal(2048, scale=.001), normal(512, scale=.001), normal(256, 512))
def int8_ffn(up, down, up_scale, down_scale, x):
    def product(x, w, scale):
        step = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
        q = jnp.round(x / step).astype(jnp.int8)
        return lax.dot(q, w, preferred_element_type=jnp.int32).astype(jnp.float32) * step * scale
    return product(jax.nn.gelu(product(x, up, up_scale)), down, down_scale)


@model("int8_weights_decode", rng.integers(-127, 127, (4, 1024, 1024)).astype(np.int8), normal(4, 1024, scale=.001),
       normal(1, 1024))
def int8_weights_decode(weights, scales, x):
    def layer(x, w):
        return jnp.tanh((x @ w[0].astype(jnp.float32)) * w[1]), None
    return lax.scan(layer, x, (weights, scales))[0]


@model("sample_top_p", normal(8, 32000, scale=3), np.uint32([1, 2]))
def sample_top_p(logits, key):
    order = jnp.argsort(-logits, -1)
    p = jax.nn.softmax(jnp.take_along_axis(logits, order, -1) / 0.8)
    p = jnp.where(jnp.cumsum(p, -1) - p < 0.9, p, 0)
    chosen = jax.random.categorical(jax.random.wrap_key_data(key), jnp.log(p))
    return jnp.take_along_axis(order, chosen[:, None], -1)


# --- mixtures of experts

moe_weights = {"route": normal(256, 8, scale=.1), "up": normal(8, 256, 512, scale=.05),
               "down": normal(8, 512, 256, scale=.05)}


@model("moe_capacity_grad", moe_weights, normal(512, 256))
def moe_capacity_grad(w, x):
    def loss(w):
        gates = jax.nn.softmax(x @ w["route"])
        expert = jnp.argmax(gates, -1)
        hot = jax.nn.one_hot(expert, 8)
        place = jnp.sum((jnp.cumsum(hot, 0) - 1) * hot, -1).astype(jnp.int32)
        send = hot[:, :, None] * jax.nn.one_hot(place, 96)[:, None, :]
        y = jnp.einsum("tec,td->ecd", send, x)
        y = jnp.einsum("ecf,efd->ecd", jax.nn.gelu(jnp.einsum("ecd,edf->ecf", y, w["up"])), w["down"])
        return jnp.sum(jnp.square(jnp.einsum("tec,ecd->td", send * jnp.max(gates, -1)[:, None, None], y)))
    return jax.value_and_grad(loss)(w)


@model("moe_ragged_grad", moe_weights, normal(512, 256))
def moe_ragged_grad(w, x):
    def loss(w):
        gates = jax.nn.softmax(x @ w["route"])
        weight, expert = lax.top_k(gates, 2)
        flat = expert.reshape(-1)
        order = jnp.argsort(flat)
        sizes = jnp.bincount(flat, length=8)
        y = jax.nn.gelu(lax.ragged_dot(x[order // 2], w["up"], sizes))
        y = lax.ragged_dot(y, w["down"], sizes) * weight.reshape(-1)[order][:, None]
        return jnp.sum(jnp.square(jnp.zeros_like(x).at[order // 2].add(y)))
    return jax.value_and_grad(loss)(w)


# --- state-space models

mamba_weights = {"in": normal(128, 512, scale=.05), "conv": normal(4, 256, scale=.3), "dt": normal(256, scale=.1),
                 "bc": normal(256, 32, scale=.05), "a": normal(256, 16, scale=.3), "out": normal(256, 128, scale=.05)}


def mamba(w, x, scan):
    z, gate = jnp.split(x @ w["in"], 2, -1)
    padded = jnp.pad(z, ((0, 0), (3, 0), (0, 0)))
    z = jax.nn.silu(sum(padded[:, i:i + z.shape[1]] * w["conv"][i] for i in range(4)))
    b, c = jnp.split(z @ w["bc"], 2, -1)
    dt = jax.nn.softplus(z + w["dt"])
    decay = jnp.exp(-dt[..., None] * jnp.exp(w["a"]))
    h = scan(decay, (dt * z)[..., None] * b[:, :, None, :])
    return jnp.sum(jnp.square(((h * c[:, :, None, :]).sum(-1) * jax.nn.silu(gate)) @ w["out"]))


@model("mamba_scan_grad", mamba_weights, normal(2, 128, 128))
def mamba_scan_grad(w, x):
    def scan(decay, inputs):
        step = lambda h, s: (s[0] * h + s[1],) * 2
        swap = lambda a: jnp.swapaxes(a, 0, 1)
        return swap(lax.scan(step, jnp.zeros((2, 256, 16)), (swap(decay), swap(inputs)))[1])
    return jax.value_and_grad(mamba)(w, x, scan)


@model("mamba_parallel_grad", mamba_weights, normal(2, 128, 128))
def mamba_parallel_grad(w, x):
    def scan(decay, inputs):
        join = lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1])
        return lax.associative_scan(join, (decay, inputs), axis=1)[1]
    return jax.value_and_grad(mamba)(w, x, scan)
