"""gpu_bundle: one tar with all that a GPU machine without Bazel needs. See tools/bundle/run for what is done with it."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "STRIP_ACTION_NAME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("//tools/cuda:cuda_library.bzl", "SettingInfo")
load("//tools/cuda:defs.bzl", "CUDA_ONLY")

def _data_path(path):
    """The place below data/ of a file: as in the runfiles of a test, where other repositories lie beside the project."""
    if path.startswith("../"):
        return "data/" + path[len("../"):]
    return "data/draftmark/" + path

def _gpu_bundle_impl(ctx):
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = cc_toolchain)
    contents = {}  # path in the bundle -> (mode, file)
    listing = []
    draftmark = ctx.attr.draftmark[DefaultInfo].files_to_run.executable
    for kind, targets in [
        ("tool", [ctx.attr.draftmark]),
        ("other", ctx.attr.others),
        ("test", ctx.attr.tests),
        ("bench", ctx.attr.benchmarks),
    ]:
        for target in targets:
            program = target[DefaultInfo].files_to_run.executable
            contents["bin/" + program.short_path] = ("program", program)
            listing.append("{} bin/{}".format(kind, program.short_path))
            for data in target[DefaultInfo].default_runfiles.files.to_list():
                if data != program:
                    # Tests that run it find it among their data; it is there once.
                    mode = "link:bin/" + data.short_path if data == draftmark else "file"
                    contents[_data_path(data.short_path)] = (mode, data)
    for script in ctx.files._scripts:
        contents[script.basename] = ("script" if script.basename == "run" else "file", script)
    for name, lines in [("PROGRAMS", listing), ("ARCHS", ctx.attr._archs[SettingInfo].value)]:
        file = ctx.actions.declare_file("{}.{}".format(ctx.label.name, name))
        ctx.actions.write(file, "".join([line + "\n" for line in lines]))
        contents[name] = ("file", file)

    table = ctx.actions.declare_file(ctx.label.name + ".contents")
    ctx.actions.write(table, "".join([
        "{}\t{}\t{}\n".format(mode, file.path, path)
        for path, (mode, file) in sorted(contents.items())
    ]))
    output = ctx.actions.declare_file(ctx.label.name + ".tar.gz")
    ctx.actions.run(
        executable = ctx.executable._pack,
        arguments = [
            table.path,
            output.path,
            cc_common.get_tool_for_action(action_name = STRIP_ACTION_NAME, feature_configuration = features),
            ctx.info_file.path,  # changes with the commit, so that the bundle does as well
            ctx.file._toolkit_id.path,
        ],
        inputs = depset(
            [table, ctx.info_file, ctx.file._toolkit_id] + [file for _, file in contents.values()],
            transitive = [cc_toolchain.all_files],
        ),
        mnemonic = "GpuBundle",
        outputs = [output],
        progress_message = "Packing %s" % output.short_path,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles([output]))]

_gpu_bundle = rule(
    implementation = _gpu_bundle_impl,
    attrs = {
        "benchmarks": attr.label_list(doc = "Google Benchmark programs."),
        "draftmark": attr.label(mandatory = True),
        "others": attr.label_list(doc = "Programs that `draftmark` starts, which `run` does not."),
        "tests": attr.label_list(doc = "GoogleTest programs, run in this order."),
        "_archs": attr.label(default = "//tools/cuda:archs"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_pack": attr.label(default = "//tools/bundle:pack.sh", allow_single_file = True, executable = True, cfg = "host"),
        "_scripts": attr.label(default = "//tools/bundle:scripts"),
        "_toolkit_id": attr.label(default = "@local_cuda//:toolkit_id", allow_single_file = True),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)

def gpu_bundle(name, **kwargs):
    """NAME.tar.gz. Every program needs `linkopts = PORTABLE_LINKOPTS` (//tools:copts.bzl); its data comes with it."""
    _gpu_bundle(
        name = name,
        target_compatible_with = CUDA_ONLY,
        testonly = True,
        **kwargs
    )
