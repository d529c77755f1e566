"""kernel_library: one operation of the drafter on the GPU."""

load("//tools/cuda:defs.bzl", "cuda_library")

# Who may launch kernels. Nothing in //src may: the CPU side stands without them (tools/rooms).
KERNEL_USERS = [
    "//benchmarks:__subpackages__",
    "//conformance:__subpackages__",
    "//kernels:__subpackages__",
    "//tools:__subpackages__",
]

def kernel_library(name, kernels = None, deps = [], visibility = KERNEL_USERS, **kwargs):
    """A folder's operation: NAME_traits.h (static facts), NAME.h and NAME.cu (launcher), sm80_NAME.cuh (kernel).

    Args:
      name: of the operation and the folder.
      kernels: the .cuh files, where they are not sm80_NAME.cuh.
      deps: beyond what every launcher needs.
      visibility: as everywhere.
      **kwargs: go to cuda_library.
    """
    cuda_library(
        name = name,
        srcs = [name + ".cu"] + (["sm80_" + name + ".cuh"] if kernels == None else kernels),
        hdrs = [
            name + ".h",
            name + "_traits.h",
        ],
        visibility = visibility,
        deps = [
            "//kernels/device:arguments",
            "//kernels/device:device_code",
            "//src/base:status",
            "//src/faults:fault",
            "//src/tensor:bfloat16",
        ] + deps,
        **kwargs
    )
