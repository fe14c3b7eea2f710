"""Trains a classifier with PyTorch/XLA: on one device, or with the examples split over a mesh of all devices."""
import numpy as np
import torch
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr

count = xr.global_runtime_device_count()
mesh = None
if count > 1:
    xr.use_spmd()
    mesh = xs.Mesh(np.arange(count), (count,), ("data",))
    print(f"{count} devices")


def on_device(examples):
    """The examples in parts on all devices."""
    examples = examples.to(torch_xla.device())
    if mesh:
        xs.mark_sharding(examples, mesh, ("data",) + (None,) * (examples.dim() - 1))
    return examples


torch.manual_seed(0)
centres = torch.randn(10, 16)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(torch_xla.device())
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(100):
    labels = torch.randint(0, 10, (64,))
    images = on_device(centres[labels] + 0.3 * torch.randn(64, 16))
    loss = torch.nn.functional.cross_entropy(model(images), on_device(labels))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch_xla.sync()
    if step % 25 == 24:
        print(f"step {step + 1}, loss {loss.item():.4f}")
