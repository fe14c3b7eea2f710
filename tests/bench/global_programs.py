"""Global programs of bench_global.py: a step on whole arrays, with shardings for a mesh of one axis "d".

Each function takes the number of devices and returns (step, state, data, state specifications, data specifications):
step(state, data) gives a scalar and the next state, trees of the same form. Needs jax and numpy.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P


def random(*shape, scale=0.05):
    rng = np.random.default_rng(sum(shape))
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def descend(loss):
    def step(state, data):
        value, gradients = jax.value_and_grad(loss)(state, *data)
        return value, jax.tree.map(lambda w, g: w - 0.01 * g, state, gradients)
    return step


def mlp_loss(weights, x, y):
    for w in weights[:-1]:
        x = jnp.tanh(x @ w)
    return jnp.mean((x @ weights[-1] - y) ** 2)


MLP = [(256, 256), (256, 256), (256, 64)]


def mlp_data(_):
    state = [random(*shape) for shape in MLP]
    return descend(mlp_loss), state, (random(256, 256), random(256, 64)), [P()] * 3, (P("d"), P("d"))


def mlp_fsdp(_):
    state = [random(*shape) for shape in MLP]
    return descend(mlp_loss), state, (random(256, 256), random(256, 64)), [P("d")] * 3, (P("d"), P("d"))


WIDTH, HEADS, TIME, BATCH = 128, 8, 64, 4


def attend(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(q.shape[-1]))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def block_loss(weights, x):
    q, k, v = (jnp.einsum("btc,chd->bthd", x, weights[name]) for name in "qkv")
    x = x + jnp.einsum("bthd,hdc->btc", attend(q, k, v), weights["out"])
    x = x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]
    return jnp.mean(x * x)


def transformer_tensor(_):
    """Heads and the feed-forward layer are cut: Megatron's block, with its backward pass."""
    head = WIDTH // HEADS
    state = {name: random(WIDTH, HEADS, head) for name in "qkv"}
    state |= {"out": random(HEADS, head, WIDTH), "up": random(WIDTH, 4 * WIDTH), "down": random(4 * WIDTH, WIDTH)}
    cuts = {name: P(None, "d") for name in "qkv"} | {"out": P("d"), "up": P(None, "d"), "down": P("d")}
    return descend(lambda w, x: block_loss(w, x)), state, (random(BATCH, TIME, WIDTH, scale=1),), cuts, (P(),)


def attention_sequence(_):
    """Each device has a piece of the sequence; keys and values are gathered."""
    def step(state, data):
        q, k, v = (jnp.einsum("btc,chd->bthd", data[0], w) for w in state)
        return jnp.mean(attend(q, k, v)), jax.tree.map(lambda w: w * np.float32(0.999), state)
    state = [random(64, 2, 32) for _ in range(3)]
    return step, state, (random(2, 512, 64, scale=1),), [P()] * 3, (P(None, "d"),)


def moe(_):
    """Top-1 gating over 8 experts that are cut; tokens are cut, too, and go to their experts and back."""
    experts, capacity, width, hidden = 8, 96, 64, 256

    def layer(state, x):
        gate, up, down = state
        choice = jnp.argmax(x @ gate, -1)
        hot = jax.nn.one_hot(choice, experts, dtype=x.dtype)
        place = (jnp.cumsum(hot, 0) - 1) * hot
        spread = hot[:, :, None] * jax.nn.one_hot(place.sum(-1).astype(jnp.int32), capacity, dtype=x.dtype)[:, None, :]
        inside = jnp.einsum("tec,tw->ecw", spread, x)
        outside = jnp.einsum("ech,ehw->ecw", jax.nn.relu(jnp.einsum("ecw,ewh->ech", inside, up)), down)
        return jnp.einsum("tec,ecw->tw", spread, outside)
    state = [random(width, experts), random(experts, width, hidden), random(experts, hidden, width)]
    loss = lambda weights, x: jnp.mean((layer(weights, x) - x) ** 2)
    return descend(loss), state, (random(512, width, scale=1),), [P(), P("d"), P("d")], (P("d"),)


def convolution_halo(_):
    """Two 3 x 3 convolutions over images that are cut by rows, with their backward pass."""
    def loss(weights, images):
        x = images
        for w in weights:
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME",
                                                         dimension_numbers=("NHWC", "HWIO", "NHWC")))
        return jnp.mean(x * x)
    state = [random(3, 3, 8, 16), random(3, 3, 16, 8)]
    return descend(loss), state, (random(2, 64, 64, 8, scale=1),), [P()] * 2, (P(None, "d"),)


PROGRAMS = {function.__name__: function for function in
            (mlp_data, mlp_fsdp, transformer_tensor, attention_sequence, moe, convolution_halo)}
