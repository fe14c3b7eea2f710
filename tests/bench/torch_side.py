"""PyTorch's side of bench_torch.py: the models of full_models.py as a PyTorch user writes them, on hlorun's arrays.

Usage: torch_side.py; questions and answers are lines of JSON. Linear layers have weights [out, in] and convolutions
[out, in, height, width] as torch.nn has them; steps of optimisers change weights in place."""
import json
import os
import sys
import time

import numpy as np
import torch
from torch.nn import functional as F

WAYS = ("eager", "compile", "channels_last", "compile, channels_last")
RESNET_STRIDES = [None if i else stride for stride, count in ((1, 3), (2, 4), (2, 6), (2, 3)) for i in range(count)]
M = {}


def model(*ways):
    def add(make):
        M[make.__name__] = (make, ways)
        return make
    return add


def linear(w):
    """[in, out...] as [out, in]."""
    return w.reshape(w.shape[0], -1).T.contiguous()


def parameters(tree):
    """All tensors of a tree."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [x for part in (tree.values() if isinstance(tree, dict) else tree) for x in parameters(part)]


def trained(tree):
    for x in parameters(tree):
        x.requires_grad_()
    return tree


# --- transformers

def transformer_block(w):
    named = {name: w[name] for name in ("ln1", "ln2", "out_bias", "up_bias", "down_bias")}
    named["qkv_bias"] = w["qkv_bias"].reshape(-1)
    return dict(named, **{name: linear(w[name]) for name in ("qkv", "out", "up", "down")})


def run_block(w, x, heads, causal):
    n, t, d = x.shape
    qkv = F.linear(F.layer_norm(x, (d,), *w["ln1"]), w["qkv"], w["qkv_bias"])
    q, k, v = qkv.view(n, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).reshape(n, t, d)
    x = x + F.linear(y, w["out"], w["out_bias"])
    y = F.gelu(F.linear(F.layer_norm(x, (d,), *w["ln2"]), w["up"], w["up_bias"]), approximate="tanh")
    return x + F.linear(y, w["down"], w["down_bias"])


def with_blocks(w):
    return dict(w, blocks=[transformer_block(b) for b in w["blocks"]])


def gradients(loss, w):
    """A step that computes the loss and all gradients."""
    all_weights = parameters(w)

    def step():
        value = loss()
        torch.autograd.grad(value, all_weights)
        return value
    return step


@model("eager", "compile")
def gpt2_small_train(way, w, m, v, tokens, step):
    w, tokens = trained(with_blocks(w)), tokens.long()
    optimizer = torch.optim.AdamW(parameters(w), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)

    def loss():
        x = F.embedding(tokens[:, :-1], w["embed"]) + w["position"]
        for b in w["blocks"]:
            x = run_block(b, x, 12, True)
        logits = F.linear(F.layer_norm(x, (768,), *w["ln"]), w["embed"])
        return F.cross_entropy(logits.view(-1, 50257), tokens[:, 1:].reshape(-1))
    loss = way(loss)

    def train():
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters(w), 1.0)
        optimizer.step()
        return value
    return train


@model("eager", "compile")
def bert_base_grad(way, w, tokens, labels):
    w, tokens, labels = trained(with_blocks(w)), tokens.long(), labels.long()

    def loss():
        x = F.layer_norm(F.embedding(tokens, w["embed"]) + w["position"], (768,), *w["ln"])
        for b in w["blocks"]:
            x = run_block(b, x, 12, False)
        return F.cross_entropy(F.linear(x, w["embed"]).view(-1, 30522), labels.view(-1))
    return gradients(way(loss), w)


@model("eager", "compile")
def vit_s16_grad(way, w, images, labels):
    patch = w["patch"].view(16, 16, 3, 384).permute(3, 2, 0, 1).contiguous()
    w = trained(dict(with_blocks(w), patch=patch, head=linear(w["head"])))
    images, labels = images.permute(0, 3, 1, 2).contiguous(), labels.long()

    def loss():
        x = F.conv2d(images, w["patch"], stride=16).flatten(2).transpose(1, 2)
        x = torch.cat([w["class"].expand(4, 1, 384), x], 1) + w["position"]
        for b in w["blocks"]:
            x = run_block(b, x, 6, False)
        return F.cross_entropy(F.linear(x[:, 0], w["head"]), labels)
    return gradients(way(loss), w)


# --- convolutions

def resnet_weights(w, layout):
    """Without the projections that no block uses."""
    def kernel(x):
        return x.permute(3, 2, 0, 1).contiguous(memory_format=layout)

    def block(b, stride):
        used = dict(b) if stride else {name: b[name] for name in b if name != "short"}
        return {name: kernel(x) if isinstance(x, torch.Tensor) else x for name, x in used.items()}
    return dict(w, stem=kernel(w["stem"]), head=linear(w["head"]),
                blocks=[block(b, stride) for b, stride in zip(w["blocks"], RESNET_STRIDES)])


def resnet(w, x, norm):
    x = F.relu(norm(F.conv2d(x, w["stem"], stride=2, padding=3), w["stem_bn"]))
    x = F.max_pool2d(x, 3, 2, 1)
    for b, stride in zip(w["blocks"], RESNET_STRIDES):
        y = F.relu(norm(F.conv2d(x, b["a"]), b["a_bn"]))
        y = F.relu(norm(F.conv2d(y, b["b"], stride=stride or 1, padding=1), b["b_bn"]))
        short = F.conv2d(x, b["short"], stride=stride) if stride else x
        x = F.relu(norm(F.conv2d(y, b["c"]), b["c_bn"]) + short)
    return F.linear(x.mean((2, 3)), w["head"])


def layout_of(way):
    return torch.channels_last if way.channels_last else torch.contiguous_format


@model(*WAYS)
def resnet50_train(way, w, momentum, x, labels):
    w, labels = trained(resnet_weights(w, layout_of(way))), labels.long()
    x = x.permute(0, 3, 1, 2).contiguous(memory_format=layout_of(way))
    optimizer = torch.optim.SGD(parameters(w), lr=0.1, momentum=0.9, fused=True)

    def norm(x, n):
        return F.batch_norm(x, None, None, n[0], n[1], training=True)
    loss = way(lambda: F.cross_entropy(resnet(w, x, norm), labels))

    def train():
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        optimizer.step()
        return value
    return train


@model(*WAYS)
def resnet50_infer(way, w, x):
    w = resnet_weights(w, layout_of(way))
    x = x.permute(0, 3, 1, 2).contiguous(memory_format=layout_of(way))

    def norm(x, n):
        return F.batch_norm(x, torch.full_like(n[0], 0.01), torch.ones_like(n[0]), n[0], n[1])
    return without_gradients(way(lambda: resnet(w, x, norm)))


def without_gradients(function):
    def run():
        with torch.inference_mode():
            return function()
    return run


# --- a Llama with caches of keys and values

def rotary(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


@model("eager", "compile")
def llama_decode_8(way, w, prompt):
    layers = [{name: x[i] for name, x in w["layers"].items()} for i in range(len(w["layers"]["q"]))]
    for b in layers:
        heads, h = b["q"].shape[1:]
        groups = b["k"].shape[1]
        b["o"] = b["o"].reshape(heads * h, -1).T.contiguous()
        b.update({name: linear(b[name]) for name in ("q", "k", "v", "gate", "up", "down")})
    head, window = linear(w["head"]), 256
    keys = [torch.zeros(1, groups, window, h) for _ in layers]
    values = [torch.zeros(1, groups, window, h) for _ in layers]
    frequency = 1e4 ** (-torch.arange(h // 2, dtype=torch.float32) / (h // 2))
    slots = torch.arange(window)

    def token(token, position):
        x = F.embedding(token, w["embed"])
        cos, sin = torch.cos(position * frequency), torch.sin(position * frequency)
        seen = (slots <= position)[None, None, None]
        for b, k, v in zip(layers, keys, values):
            y = F.rms_norm(x, x.shape[-1:], b["ln1"], 1e-5)
            q = rotary(F.linear(y, b["q"]).view(1, heads, 1, h), cos, sin)
            k.index_copy_(2, position, rotary(F.linear(y, b["k"]).view(1, groups, 1, h), cos, sin))
            v.index_copy_(2, position, F.linear(y, b["v"]).view(1, groups, 1, h))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
            x = x + F.linear(y.reshape(1, -1), b["o"])
            y = F.rms_norm(x, x.shape[-1:], b["ln2"], 1e-5)
            x = x + F.linear(F.silu(F.linear(y, b["gate"])) * F.linear(y, b["up"]), b["down"])
        return F.linear(F.rms_norm(x, x.shape[-1:], w["ln"], 1e-5), head).argmax(-1)
    token = way(token)

    def decode():
        now, said = prompt.long(), []
        for position in range(8):
            now = token(now, torch.tensor([position]))
            said.append(now)
        return torch.stack(said)
    return without_gradients(decode)


# --- the server

class Way:
    """How a function runs: as it is, or compiled; `channels_last` is for models with images."""

    def __init__(self, name):
        self.compiled, self.channels_last = "compile" in name, "channels_last" in name

    def __call__(self, function):
        return torch.compile(function) if self.compiled else function


def build(tree, arrays):
    if isinstance(tree, dict):
        return {name: build(part, arrays) for name, part in tree.items()}
    if isinstance(tree, list):
        return [build(part, arrays) for part in tree]
    return torch.from_numpy(np.array(arrays[f"in{tree}"]))


def prepare(name, way, path, tree):
    """Makes the step and runs it twice; the first result is compared with what jax computed."""
    make, _ = M[name]
    with np.load(path) as arrays:
        step = make(Way(way), *build(tree, arrays))
    start = time.perf_counter()
    first = step().detach().double().numpy()
    seconds = time.perf_counter() - start
    step()
    return step, {"compile": seconds, "first": first.ravel()[:1000].tolist()}


def measure(step, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return {"best": min(times), "median": float(np.median(times))}


def serve():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    step = None
    for line in sys.stdin:
        question = json.loads(line)
        kind = question.pop("kind")
        if kind == "threads":
            torch.set_num_threads(question["count"])
            answer = {"torch": torch.__version__}
        elif kind == "ways":
            answer = {"ways": M[question["name"]][1]}
        elif kind == "prepare":
            step = None
            step, answer = prepare(**question)
        else:
            answer = measure(step, **question)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve()
