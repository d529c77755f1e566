"""Repository rule: the CUDA toolkit as @local_cuda.

Looks in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and the wheels that tools/setup puts into .cuda/, and takes the first
that is complete (find_toolkit.sh). It never fails: without a toolkit, defs.bzl says HAVE_CUDA = False and every target
is incompatible, so that `//...` skips what needs CUDA and the rest builds.

    @local_cuda//:headers           host and device headers of the runtime (cuda_runtime.h, cuda_bf16.h, cuda_fp8.h, ...)
    @local_cuda//:cudart_static     the runtime; it opens the driver itself, so programs also start without a GPU
    @local_cuda//:cudadevrt         the archive of the device runtime, for the device link of cuda_library(rdc = True)
    @local_cuda//:cublasLt_headers  the library is opened by the program, as the driver is (src/cuda/cublaslt_library.h)
    @local_cuda//:cupti_headers     of the callbacks; none where the toolkit has no CUPTI, which only a test needs

    @local_cuda//toolkit            nvcc and all that it reads, for --//tools/cuda:toolkit_as_input

nvcc is called by its absolute path and reads its own headers there. `:toolkit_id` stands for all of them as an input
of the actions: another toolkit in the same place changes it. With --//tools/cuda:toolkit_as_input=true (--config=remote)
the toolkit itself is an input, some 2,000 files and 200 MB, so that a remote worker needs none.
"""

_WHEEL_FOLDER = ".cuda/nvidia/cu13"

# Top-level headers of the runtime by prefix. Toolkits hold over 1,900 headers, and each one that is declared costs a
# link per sandboxed action, so the other libraries' headers, CUB and Thrust stay out (nvcc finds those by itself).
_HEADER_PREFIXES = [
    "builtin_types",
    "channel_descriptor",
    "common_functions",
    "cooperative_groups",
    "cuComplex",
    "cuda",
    "device_",
    "driver_",
    "fatbinary_section",
    "host_",
    "library_types",
    "math_",
    "mma",
    "sm_",
    "surface_",
    "texture_",
    "vector_",
]

_HEADER_FOLDERS = ["cooperative_groups", "crt", "nv", "cccl/nv"]

_CUBLAS_HEADERS = ["cublasLt.h", "cublas_api.h", "cublas_v2.h"]

_CUPTI_HEADERS = ["cupti_callbacks.h", "cupti_result.h"]

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_import", "cc_library")

package(default_visibility = ["//visibility:public"])

exports_files(["toolkit_id"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    # `includes` become -isystem, which also keeps the project's warnings out of these headers.
    includes = ["include", "include/cccl"],
)

cc_import(
    name = "cudart_static_archive",
    static_library = "lib/libcudart_static.a",
)

cc_library(
    name = "cudart_static",
    linkopts = ["-ldl", "-lpthread", "-lrt"],
    deps = [":cudart_static_archive", ":headers"],
)

filegroup(
    name = "cudadevrt",
    srcs = ["lib/libcudadevrt.a"],
)
"""

# A package of its own: its files are looked at only if it is used.
_BUILD_TOOLKIT = """
filegroup(
    name = "toolkit",
    srcs = glob(
        ["bin/**", "nvvm/**", "include/**"],
        # Bazel takes no file with a space in its name.
        exclude = ["**/* *"],
    ),
    visibility = ["//visibility:public"],
)
"""

_BUILD_CUBLASLT = """
cc_library(
    name = "cublasLt_headers",
    hdrs = glob(["cublas/*.h"]),
    includes = ["cublas"],
    deps = [":headers"],
)
"""

_BUILD_CUPTI = """
cc_library(
    name = "cupti_headers",
    hdrs = glob(["cupti/*.h"]),
    includes = ["cupti"],
    deps = [":headers"],
)
"""

_BUILD_MISSING_SETTING = """
constraint_setting(name = "toolkit")

# The name is what Bazel prints as the reason when such a target is asked for by name.
constraint_value(
    name = "{reason}",
    constraint_setting = ":toolkit",
)
"""

_BUILD_MISSING_TARGET = """
cc_library(
    name = "{name}",
    target_compatible_with = [":{reason}"],
)
"""

def _find_toolkit(repository_ctx):
    """(root, CUDA_VERSION, folder of libraries) of the toolkit to use, or None."""
    workspace = repository_ctx.path(Label("@//:WORKSPACE")).dirname
    answer = repository_ctx.execute([
        repository_ctx.path(Label("@//third_party/cuda:find_toolkit.sh")),
        repository_ctx.os.environ.get("CUDA_HOME", ""),
        repository_ctx.os.environ.get("CUDA_PATH", ""),
        "/usr/local/cuda",
        str(workspace) + "/" + _WHEEL_FOLDER,
    ], working_directory = str(workspace))
    if answer.return_code != 0:
        return None
    root, version, libraries = answer.stdout.strip().split("\n")
    return repository_ctx.path(root), int(version), repository_ctx.path(libraries)

def _write_missing(repository_ctx):
    reason = "no_cuda_toolkit_found__run_tools_setup"
    targets = ["headers", "cudart_static", "cudadevrt", "cublasLt_headers", "cupti_headers"]
    repository_ctx.file("toolkit_id", "none\n")
    repository_ctx.file("BUILD", "".join(
        ["load(\"@rules_cc//cc:defs.bzl\", \"cc_library\")\n\npackage(default_visibility = [\"//visibility:public\"])\n\nexports_files([\"toolkit_id\"])\n"] +
        [_BUILD_MISSING_SETTING.format(reason = reason)] +
        [_BUILD_MISSING_TARGET.format(name = name, reason = reason) for name in targets],
    ))
    repository_ctx.file("toolkit/BUILD", "filegroup(name = \"toolkit\", visibility = [\"//visibility:public\"])\n")
    repository_ctx.file("defs.bzl", "HAVE_CUDA = False\nNVCC = \"\"\n")

def _cublaslt(repository_ctx, root):
    """The BUILD text of :cublasLt_headers; a toolkit without them gets an incompatible target."""
    if not root.get_child("include").get_child("cublasLt.h").exists:
        reason = "toolkit_has_no_cublasLt"
        return (_BUILD_MISSING_SETTING.format(reason = reason) +
                _BUILD_MISSING_TARGET.format(name = "cublasLt_headers", reason = reason))
    for name in _CUBLAS_HEADERS:
        repository_ctx.symlink(root.get_child("include").get_child(name), "cublas/" + name)
    return _BUILD_CUBLASLT

def _cupti_header(root, name):
    """Where it is: wheels have CUPTI among the others, installers apart."""
    for folder in [root.get_child("include"), root.get_child("extras").get_child("CUPTI").get_child("include")]:
        if folder.get_child(name).exists:
            return folder.get_child(name)
    return None

def _cuda_configure_impl(repository_ctx):
    toolkit = _find_toolkit(repository_ctx)
    if not toolkit:
        _write_missing(repository_ctx)
        return
    root, version, libraries = toolkit

    include = root.get_child("include")
    for path in include.readdir():
        if (path.basename.endswith(".h") or path.basename.endswith(".hpp")) and [
            prefix
            for prefix in _HEADER_PREFIXES
            if path.basename.startswith(prefix)
        ]:
            repository_ctx.symlink(path, "include/" + path.basename)
    for folder in _HEADER_FOLDERS:
        path = repository_ctx.path(str(include) + "/" + folder)
        if path.exists:
            repository_ctx.symlink(path, "include/" + folder)
    for library in ["libcudart_static.a", "libcudadevrt.a"]:
        repository_ctx.symlink(libraries.get_child(library), "lib/" + library)

    nvcc = root.get_child("bin").get_child("nvcc")
    answer = repository_ctx.execute([nvcc, "--version"])
    repository_ctx.file("toolkit_id", answer.stdout)

    for name in _CUPTI_HEADERS:
        path = _cupti_header(root, name)
        if path:
            repository_ctx.symlink(path, "cupti/" + name)

    for folder in ["bin", "nvvm", "include"]:
        if root.get_child(folder).exists:
            repository_ctx.symlink(root.get_child(folder), "toolkit/" + folder)
    repository_ctx.file("toolkit/BUILD", _BUILD_TOOLKIT)

    repository_ctx.file("BUILD", _BUILD + _BUILD_CUPTI + _cublaslt(repository_ctx, root))
    repository_ctx.file("defs.bzl", "HAVE_CUDA = True\nNVCC = \"{}\"\n".format(nvcc))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    doc = "See the top of this file.",
    configure = True,
    environ = ["CUDA_HOME", "CUDA_PATH"],
    local = True,
)
