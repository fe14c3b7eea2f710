"""Programs of PyTorch/XLA on hlorun's plugin, beside PyTorch itself: torch_programs.py training|mesh, with
PJRT_DEVICE=HLORUN.

Exits with 1 if results differ by more than roundings."""
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr


class Net(nn.Module):
    """Convolutions, attention and a recurrent network."""

    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(8, 16, 3), nn.GELU())
        self.attention = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.sequence = nn.LSTM(16, 16, batch_first=True)
        self.out = nn.Linear(16, 10)

    def forward(self, x):
        x = self.attention(self.image(x).flatten(2).transpose(1, 2))
        return self.out(F.layer_norm(self.sequence(x)[0].mean(1), (16,)))


def train(device, steps=5):
    """The losses of AdamW with clipped gradients."""
    torch.manual_seed(1)
    random = torch.Generator().manual_seed(2)
    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        x = torch.randn(8, 1, 14, 14, generator=random).to(device)
        y = torch.randint(0, 10, (8,), generator=random).to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        torch_xla.sync()
        losses.append(loss.item())
    return losses


def training():
    losses, want = train(torch_xla.device()), train("cpu")
    print(losses, want)
    return np.allclose(losses, want, atol=1e-4)


def layers():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))


def mesh():
    """A gradient whose examples and weights lie on the devices of a mesh."""
    xr.use_spmd()
    count = xr.global_runtime_device_count()
    devices = xs.Mesh(np.arange(count), (count // 2, 2), ("data", "model"))
    model, x = layers(), torch.randn(16, 32, generator=torch.Generator().manual_seed(4))
    cut = layers().to(torch_xla.device())
    images = x.to(torch_xla.device())
    xs.mark_sharding(images, devices, ("data", None))
    xs.mark_sharding(cut[0].weight, devices, ("model", None))
    xs.mark_sharding(cut[2].weight, devices, (None, "model"))
    cut(images).square().mean().backward()
    torch_xla.sync()
    gradients = [p.grad.cpu() for p in cut.parameters()]
    model(x).square().mean().backward()
    print(f"{count} devices")
    return count > 1 and all(torch.allclose(a, p.grad, atol=1e-6) for a, p in zip(gradients, model.parameters()))


sys.exit(not {"training": training, "mesh": mesh}[sys.argv[1]]())
