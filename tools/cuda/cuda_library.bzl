"""The rule behind cuda_library, and the build settings of //tools/cuda. BUILD files load //tools/cuda:defs.bzl."""

load("@local_cuda//:defs.bzl", "NVCC")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools:copts.bzl", "DRAFTMARK_COPTS")

SettingInfo = provider("The value of a build setting.", fields = ["value"])

def _setting_impl(ctx):
    return [SettingInfo(value = ctx.build_setting_value)]

bool_flag = rule(implementation = _setting_impl, build_setting = config.bool(flag = True))
bool_setting = rule(implementation = _setting_impl, build_setting = config.bool(flag = False))
string_list_flag = rule(implementation = _setting_impl, build_setting = config.string_list(flag = True))

def _built_archs_impl(ctx):
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    archs = ctx.attr._archs[SettingInfo].value if ctx.attr.have_cuda else []
    ctx.actions.write(header, """// Generated: what the kernels of this build are compiled for (//tools/cuda:archs); empty without CUDA.
#ifndef DRAFTMARK_TOOLS_CUDA_BUILT_ARCHS_H_
#define DRAFTMARK_TOOLS_CUDA_BUILT_ARCHS_H_

#include <string_view>

namespace draftmark {{

inline constexpr std::string_view kBuiltArchs = "{}";

}}  // namespace draftmark

#endif  // DRAFTMARK_TOOLS_CUDA_BUILT_ARCHS_H_
""".format(",".join(archs)))
    return [DefaultInfo(files = depset([header]))]

built_archs = rule(
    implementation = _built_archs_impl,
    attrs = {
        "have_cuda": attr.bool(mandatory = True),
        "_archs": attr.label(default = "//tools/cuda:archs"),
    },
)

def _arch_flags(archs):
    """-gencode flags; sm_90a gives machine code, compute_90a gives PTX."""
    flags = []
    for arch in archs:
        number = arch[arch.index("_") + 1:]
        flags += ["-gencode", "arch=compute_{},code={}".format(number, arch)]
    return flags

def _host_flags(ctx, cc_toolchain, features):
    """The C++ toolchain's flags, in the form that nvcc takes."""
    variables = cc_common.create_compile_variables(
        cc_toolchain = cc_toolchain,
        feature_configuration = features,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        use_pic = True,
    )
    flags = ["-std=c++20", "-Xcompiler=-fPIC"]
    for flag in cc_common.get_memory_inefficient_command_line(
        action_name = "c++-compile",
        feature_configuration = features,
        variables = variables,
    ):
        if flag.startswith("-std=") or flag.startswith("-D__") or flag in ["-c", "-fPIC"]:
            continue  # nvcc has its own -std; __DATE__ and its like are redacted for the host compiler only
        if flag[:2] in ["-D", "-U", "-O"]:
            flags.append(flag)  # for host and device
        else:
            flags.append("-Xcompiler=" + flag.replace(",", "\\,"))  # else nvcc makes two of it

    # The toolkit's headers come to the host compiler as if they were ours, and clang warns of their static inline functions.
    return flags + ["-Xcompiler=-Wno-unused-function"]

def _include_flags(context):
    """Include folders and defines. nvcc does not know -iquote."""
    flags = ["-D" + define for define in context.defines.to_list()]
    flags += ["-I" + folder for folder in context.quote_includes.to_list() + context.includes.to_list()]
    for folder in context.system_includes.to_list():
        flags += ["-isystem", folder]
    return flags

def _nvcc(ctx, cc_toolchain, inputs, output, arguments, mnemonic):
    toolkit = ctx.files.toolkit
    nvcc = [file for file in toolkit if file.path.endswith("/toolkit/bin/nvcc")]
    ctx.actions.run(
        executable = nvcc[0] if nvcc else NVCC,
        arguments = arguments,
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        inputs = depset([ctx.file._toolkit_id] + toolkit, transitive = [inputs, cc_toolchain.all_files]),
        mnemonic = mnemonic,
        outputs = [output],
        progress_message = "%s %s" % (mnemonic, output.short_path),
    )

def _cuda_library_impl(ctx):
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    host_compiler = cc_common.get_tool_for_action(action_name = "c++-compile", feature_configuration = features)

    own_context = cc_common.create_compilation_context(
        defines = depset(ctx.attr.defines),
        headers = depset(ctx.files.hdrs),
        # A context made by hand has no include root of its own.
        quote_includes = depset([".", ctx.bin_dir.path, ctx.genfiles_dir.path]),
    )
    deps = [dep[CcInfo] for dep in ctx.attr.deps + [ctx.attr._runtime]]
    context = cc_common.merge_cc_infos(
        cc_infos = [CcInfo(compilation_context = own_context)] + deps,
    ).compilation_context

    archs = _arch_flags(ctx.attr._archs[SettingInfo].value)
    common = ["-ccbin", host_compiler] + archs
    compile_flags = (
        common + ["--threads=2", "-Werror=all-warnings", "-rdc=" + ("true" if ctx.attr.rdc else "false")] +
        (["-lineinfo"] if ctx.attr._lineinfo[SettingInfo].value else []) +
        _host_flags(ctx, cc_toolchain, features) + ctx.attr.nvcc_copts + _include_flags(context)
    )

    objects = []
    for source in [file for file in ctx.files.srcs if file.extension == "cu"]:
        output = ctx.actions.declare_file("_objs/{}/{}.o".format(ctx.label.name, source.basename[:-len(".cu")]))
        _nvcc(
            ctx,
            cc_toolchain,
            depset(ctx.files.srcs, transitive = [context.headers]),
            output,
            compile_flags + ["-c", source.path, "-o", output.path],
            "CudaCompile",
        )
        objects.append(output)
    if ctx.attr.rdc:
        # Device symbols are resolved inside one library; the result is one more object of its archive.
        output = ctx.actions.declare_file("_objs/{}/device_link.o".format(ctx.label.name))
        device_runtime = ctx.files._cudadevrt
        _nvcc(
            ctx,
            cc_toolchain,
            depset(objects + device_runtime),
            output,
            common + ["-Xcompiler=-fPIC", "-dlink", "-o", output.path] +
            [file.path for file in objects + device_runtime],
            "CudaDeviceLink",
        )
        objects.append(output)

    compiled = depset(objects)  # with -fPIC, so one object serves both kinds
    linking_context, linked = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(objects = compiled, pic_objects = compiled),
        disallow_dynamic_library = True,
        feature_configuration = features,
        linking_contexts = [dep.linking_context for dep in deps],
        name = ctx.label.name,
    )
    library = linked.library_to_link
    archives = [file for file in [library.static_library, library.pic_static_library] if file]
    return [
        DefaultInfo(files = depset(archives)),
        CcInfo(compilation_context = context, linking_context = linking_context),
    ]

cuda_library_rule = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "copts": attr.string_list(default = DRAFTMARK_COPTS, doc = "For the host compiler; -D and -O go to both."),
        "defines": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "nvcc_copts": attr.string_list(doc = "For nvcc as they are, for example -maxrregcount=64."),
        "rdc": attr.bool(doc = "Relocatable device code: device functions are shared by the library's .cu files."),
        "srcs": attr.label_list(allow_files = [".cu", ".cuh", ".h"]),
        "toolkit": attr.label(doc = "nvcc and all that it reads, where these are inputs; else they are those of this machine."),
        "_archs": attr.label(default = "//tools/cuda:archs"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_cudadevrt": attr.label(default = "@local_cuda//:cudadevrt"),
        "_lineinfo": attr.label(default = "//tools/cuda:lineinfo"),
        "_runtime": attr.label(default = "@local_cuda//:cudart_static"),
        "_toolkit_id": attr.label(default = "@local_cuda//:toolkit_id", allow_single_file = True),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = use_cc_toolchain(),
)
