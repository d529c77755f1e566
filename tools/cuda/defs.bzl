"""CUDA in BUILD files.

    load("//tools/cuda:defs.bzl", "CUDA_ONLY", "cuda_library")

    cuda_library(name = "kernel", srcs = ["kernel.cu"], hdrs = ["kernel.h"])
    gpu_test(name = "kernel_test", srcs = ["kernel_test.cc"], deps = [":kernel"])

A target that depends on a cuda_library is skipped by `//...` where there is no CUDA; CUDA_ONLY is for the
`target_compatible_with` of those that need CUDA in another way.
"""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load("//tools:copts.bzl", "DRAFTMARK_COPTS", "PORTABLE_LINKOPTS")
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

def gpu_test(name, srcs, deps, size = "small", **kwargs):
    """A test that launches kernels, and its cases as a library NAME_cases.

    Programs with kernels are large: //kernels:gpu_test and //benchmarks:benchmarks_gpu_test, which go into the bundle, are
    one each of these libraries.

    Args:
      name: of the test.
      srcs: as of cc_test.
      deps: as of cc_test.
      size: as of cc_test.
      **kwargs: go to both.
    """
    cc_library(
        name = name + "_cases",
        testonly = True,
        srcs = srcs,
        copts = DRAFTMARK_COPTS,
        visibility = [
            "//benchmarks:__pkg__",
            "//kernels:__pkg__",
        ],
        deps = deps,
        alwayslink = True,
        **kwargs
    )
    cc_test(
        name = name,
        size = size,
        linkopts = PORTABLE_LINKOPTS,
        tags = GPU_TEST_TAGS,
        deps = [":" + name + "_cases"],
        **kwargs
    )
