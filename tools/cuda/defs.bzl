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
load("//tools/remote:platforms.bzl", _GPU_EXEC_PROPERTIES = "GPU_EXEC_PROPERTIES")

CUDA_ONLY = select({
    "//tools/cuda:have_cuda": [],
    "//conditions:default": ["//tools/cuda:incompatible"],
})

# Tests that launch kernels. Each has a GPU for itself (src/cuda/device_lease.h), on this machine or on a remote worker;
# the tag `exclusive` would keep them here, and one at a time however many GPUs there are.
GPU_TEST_TAGS = ["gpu"]

# Where a remote executor runs them.
GPU_EXEC_PROPERTIES = _GPU_EXEC_PROPERTIES

def cuda_library(name, **kwargs):
    """A C++ library whose sources are .cu files; see cuda_library.bzl for the attributes."""
    _cuda_library(
        name = name,
        target_compatible_with = CUDA_ONLY,
        toolkit = select({
            "//tools/cuda:takes_toolkit_as_input": "@local_cuda//toolkit",
            "//conditions:default": None,
        }),
        **kwargs
    )

def gpu_test(name, srcs, deps, size = "small", shard_count = None, **kwargs):
    """A test that launches kernels, and its cases as a library NAME_cases.

    Programs with kernels are large: //kernels:gpu_test and //benchmarks:benchmarks_gpu_test, which go into the bundle, are
    one each of these libraries.

    Args:
      name: of the test.
      srcs: as of cc_test.
      deps: as of cc_test.
      size: as of cc_test.
      shard_count: as of cc_test.
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
        exec_properties = GPU_EXEC_PROPERTIES,
        linkopts = PORTABLE_LINKOPTS,
        shard_count = shard_count,
        tags = GPU_TEST_TAGS,
        deps = [":" + name + "_cases"],
        **kwargs
    )
