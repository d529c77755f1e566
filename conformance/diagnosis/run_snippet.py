"""Runs the snippet of `draftmark dump-template` without PyTorch, for template_test.cc.

    run_snippet.py check
    run_snippet.py GEOMETRY SNIPPET OUT

executes SNIPPET on a stand-in for a model whose modules give what numpy_drafter.py computes for
step 0 of one sequence; writes GEOMETRY's config, weights, inputs and the dump below OUT.
"""

import ast
import sys
import types

import numpy as np

import numpy_dumps


class Tensor:
    """As much of a PyTorch tensor as the snippet uses."""

    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    def contiguous(self):
        return Tensor(np.ascontiguousarray(self.array))

    def cpu(self):
        return self

    def squeeze(self, axis):
        return Tensor(self.array.squeeze(axis))


class Module:
    def __init__(self, output):
        self.output, self.hooks = output, []

    def register_forward_hook(self, hook):
        self.hooks.append(hook)

    def __call__(self):
        for hook in self.hooks:
            hook(self, (), self.output)


def module_name(stage):
    """The module of a PyTorch model whose output is `stage`."""
    if stage.endswith(".output"):
        return stage[: -len(".output")]
    for inner in ("q_norm", "o_proj"):
        stage = stage.replace("." + inner, ".self_attn." + inner)
    return stage.replace("_conv.dynamic", "_conv.kernel_projection")


def run(geometry, snippet_path, out):
    overrides, _ = numpy_dumps.GEOMETRIES[geometry]
    writer = numpy_dumps.Writer(out, geometry, [], overrides)
    writer.bands = [writer.bands[0][:1]]
    numpy_dumps.save(writer.folder + "/inputs.safetensors", numpy_dumps.inputs_file(writer.bands))
    modules = []
    for name, value in writer.run("hf").items():
        stage = name.split(".", 1)[1]
        # Batch first, and a layer's output in a tuple, as in Hugging Face models.
        output = Tensor(np.asarray(value)[None])
        modules.append(("model." + module_name(stage), Module((output,) if stage.endswith(".output") else output)))

    saved = {}
    torch_files = types.ModuleType("safetensors.torch")
    torch_files.save_file = lambda tensors, path: saved.update({name: t.array for name, t in tensors.items()})
    sys.modules["safetensors.torch"] = torch_files
    sys.modules["safetensors"].torch = torch_files
    with open(snippet_path) as file:
        lines = ast.unparse(ast.parse(file.read())).split("\n")
    scope = {"drafter": types.SimpleNamespace(named_modules=lambda: modules)}
    exec("\n".join(lines[:-1]), scope)
    for _, module in modules:
        module()
    exec(lines[-1], scope)
    numpy_dumps.save(writer.folder + "/dump.safetensors", numpy_dumps.dump_file(
        {name: value.reshape(value.shape) for name, value in saved.items()}, "BF16"))


if __name__ == "__main__":
    if sys.argv[1] != "check":
        run(*sys.argv[1:])
