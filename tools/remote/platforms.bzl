"""What a remote executor is told about the machines it must choose: pools, and kinds of GPU."""

# The names are ours; a server maps them to its workers.
CPU_POOL = {
    "OSFamily": "Linux",
    "Pool": "cpu",
}

# Compute capabilities of the GPUs that a farm may have.
GPU_KINDS = [
    "sm_80",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_120",
]

def _gpu_pool(kind):
    return {
        "OSFamily": "Linux",
        "Pool": "gpu",
        "gpu": kind,
    }

# The `exec_properties` of a test that launches kernels: those of the GPU that --platforms names, else none.
GPU_EXEC_PROPERTIES = select(dict(
    [("//tools/remote:wants_" + kind, _gpu_pool(kind)) for kind in GPU_KINDS] +
    [("//conditions:default", {})],
))

def remote_platforms():
    """`cpu`, where everything else runs, and one platform for each kind of GPU, for --platforms."""
    machine = ["@platforms//os:linux", "@platforms//cpu:x86_64"]
    native.platform(
        name = "cpu",
        constraint_values = machine,
        exec_properties = CPU_POOL,
    )
    native.constraint_setting(name = "gpu")
    for kind in GPU_KINDS:
        native.constraint_value(
            name = "gpu_" + kind,
            constraint_setting = ":gpu",
        )
        native.config_setting(
            name = "wants_" + kind,
            constraint_values = [":gpu_" + kind],
        )
        native.platform(
            name = kind,
            constraint_values = machine + [":gpu_" + kind],
            exec_properties = _gpu_pool(kind),
        )
