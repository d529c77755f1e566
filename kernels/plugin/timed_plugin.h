// A plug-in's CUDA operations as entries of our own table of launchers, for benchmarks: in this
// process, on operands that somebody else has placed.
//
//   DM_ASSIGN_OR_RETURN(const PluginLibrary library, PluginLibrary::Load("./libmine.so"));
//   const kernels::DeviceOperation operation =
//       DeviceOperationOf(*library.table().Find("rms_norm"));
//   operation.launch(c, operands, {.workspace = ..., .stream = stream})
//
// Nothing is contained here: the process should be one that may die (benchmarks/plugin_timing.h).
#ifndef DRAFTMARK_KERNELS_PLUGIN_TIMED_PLUGIN_H_
#define DRAFTMARK_KERNELS_PLUGIN_TIMED_PLUGIN_H_

#include "kernels/plugin/plugin_table.h"
#include "kernels/registry/device_operations.h"
#include "src/base/status.h"

namespace draftmark::plugin {

// `operation` must outlive the result. The workspace is that of the query; launching is
// UNIMPLEMENTED for what is unsupported and INTERNAL for what failed.
kernels::DeviceOperation DeviceOperationOf(const PluginOperation& operation);

// Whether the table and the query support the case. INTERNAL if the query failed, threw, or asks
// for too large a workspace.
StatusOr<bool> Supports(const PluginOperation& operation, const OperationCase& c);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_TIMED_PLUGIN_H_
