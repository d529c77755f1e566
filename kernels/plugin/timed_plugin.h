// A plug-in's CUDA operations as entries of our own table of launchers, for benchmarks: in this
// process, on operands that somebody else has placed.
//
//   DM_ASSIGN_OR_RETURN(const PluginLibrary library, PluginLibrary::Load("./libmine.so"));
//   const kernels::DeviceOperation operation = DeviceOperationOf(*library.table().Find("rms_norm"));
//   operation.launch(c, operands, {.workspace = ..., .stream = stream})
//
// Nothing is contained here: whoever starts the program does that, as `draftmark perf gate` does.
#ifndef DRAFTMARK_KERNELS_PLUGIN_TIMED_PLUGIN_H_
#define DRAFTMARK_KERNELS_PLUGIN_TIMED_PLUGIN_H_

#include "kernels/plugin/plugin_table.h"
#include "kernels/registry/device_operations.h"

namespace draftmark::plugin {

// `operation` must outlive the result. The workspace is that of the query; launching is UNIMPLEMENTED
// for what is unsupported and INTERNAL for what failed.
kernels::DeviceOperation DeviceOperationOf(const PluginOperation& operation);

// Whether the table and the query support the case.
bool Supports(const PluginOperation& operation, const OperationCase& c);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_TIMED_PLUGIN_H_
