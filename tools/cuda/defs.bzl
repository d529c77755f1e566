"""CUDA in BUILD files.

    load("//tools/cuda:defs.bzl", "CUDA_ONLY", "cuda_library")

    cuda_library(name = "kernel", srcs = ["kernel.cu"], hdrs = ["kernel.h"])
    cc_test(name = "kernel_test", deps = [":kernel"], tags = GPU_TEST_TAGS)

A target that depends on a cuda_library is skipped by `//...` where there is no CUDA; CUDA_ONLY is for the
`target_compatible_with` of those that need CUDA in another way.
"""

load("//tools/cuda:cuda_library.bzl", _cuda_library = "cuda_library_rule")

CUDA_ONLY = select({
    "//tools/cuda:have_cuda": [],
    "//conditions:default": ["//tools/cuda:incompatible"],
})

# Tests that launch kernels: one at a time, so that they do not share the GPU's memory and clocks.
GPU_TEST_TAGS = [
    "exclusive",
    "gpu",
]

def cuda_library(name, **kwargs):
    """A C++ library whose sources are .cu files; see cuda_library.bzl for the attributes."""
    _cuda_library(
        name = name,
        target_compatible_with = CUDA_ONLY,
        **kwargs
    )
