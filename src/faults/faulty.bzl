"""faulty_binary: a program built once more, with all it depends on, with the fault switches of fault.h alive."""

def _setting_impl(_ctx):
    return []

# Not a flag: no command line can turn a product into a mutant. Only the transition below sets it.
faults_setting = rule(implementation = _setting_impl, build_setting = config.bool(flag = False))

def _with_faults_impl(_settings, _attr):
    return {"//src/faults:enabled": True}

_with_faults = transition(
    implementation = _with_faults_impl,
    inputs = [],
    outputs = ["//src/faults:enabled"],
)

def _faulty_binary_impl(ctx):
    program = ctx.attr.program[0][DefaultInfo]
    output = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = output, target_file = program.files_to_run.executable, is_executable = True)
    return [DefaultInfo(
        executable = output,
        files = depset([output]),
        runfiles = ctx.runfiles([output]).merge(program.default_runfiles),
    )]

_faulty_binary = rule(
    implementation = _faulty_binary_impl,
    attrs = {
        "program": attr.label(cfg = _with_faults, mandatory = True, executable = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    executable = True,
)

def faulty_binary(name, program, **kwargs):
    """NAME is `program` with faults. It is testonly, so that Bazel refuses a product that needs it."""
    _faulty_binary(
        name = name,
        program = program,
        testonly = True,
        **kwargs
    )
