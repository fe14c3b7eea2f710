"""A small model of PyTorch as StableHLO with its weights and inputs: model.mlir, in.npz, want.npz."""

import numpy as np
import torch
from torch_xla.stablehlo import VariableType, exported_program_to_stablehlo

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).eval()
x = torch.randn(2, 8)

program = exported_program_to_stablehlo(torch.export.export(model, (x,)))
with open("model.mlir", "w") as file:
    file.write(program.get_stablehlo_text())

bundle = program._bundle
arrays = {}
for k, place in enumerate(bundle.stablehlo_funcs[0].meta.input_locations):
    if place.type_ == VariableType.INPUT_ARG:
        arrays[f"in{k}"] = (x,)[place.position].numpy()
    elif place.type_ == VariableType.PARAMETER:
        arrays[f"in{k}"] = np.asarray(bundle.state_dict[place.name])
    else:
        arrays[f"in{k}"] = np.asarray(bundle.additional_constants[place.position])
np.savez("in.npz", **arrays)
np.savez("want.npz", out0=model(x).detach().numpy())
