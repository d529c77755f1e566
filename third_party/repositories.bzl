"""What WORKSPACE (Bazel 4.2.3) and MODULE.bazel (Bazel 7) both declare."""

load("//third_party/benchmark:google_benchmark.bzl", "google_benchmark")
load("//third_party/cuda:cuda_configure.bzl", "cuda_configure")
load("//third_party/debian:repositories.bzl", "debian_repositories")
load("//third_party/dygraphs:dygraphs.bzl", "dygraphs")
load("//third_party/oracle:oracle_cases.bzl", "oracle_cases")
load("//third_party/python:python_configure.bzl", "python_configure")

def draftmark_repositories():
    """Declares every repository but those of the rules; a new one goes into MODULE.bazel's use_repo as well."""
    debian_repositories()

    # These never fail: what is missing is skipped, and tools/setup installs it.
    cuda_configure(name = "local_cuda")
    dygraphs(name = "dygraphs")
    google_benchmark(name = "google_benchmark")
    python_configure(name = "local_python")
    oracle_cases(name = "oracle_cases")
