// PluginTable: the table of a plug-in, checked as a whole and copied out of the library.
//
//   DM_ASSIGN_OR_RETURN(const PluginTable table, ReadPluginTable(entry(DRAFTMARK_PLUGIN_ABI)));
//   const PluginOperation* const operation = table.Find("rms_norm");
//
// Nothing of a table is believed: INVALID_ARGUMENT names the first field that cannot be, with what
// was expected and found. Pointers to nowhere cannot be told from others, so a table is read in the
// process that may die of it (plugin_host.h). Functions are pointers into the library, which must
// stay loaded. Pure; a plain value type.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_TABLE_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plugin/draftmark_plugin.h"
#include "src/base/status.h"
#include "src/operations/operation.h"
#include "src/tensor/dtype.h"

namespace draftmark::plugin {

enum class PluginDevice { kCpu, kCuda };
std::string_view PluginDeviceName(PluginDevice device);  // "cpu", "cuda"

// The interface's name of a dtype; nothing for one that it does not have, and back.
std::optional<draftmark_dtype> PluginDType(DType dtype);
std::optional<DType> DTypeOf(draftmark_dtype dtype);

struct PluginLimit {
  std::string name;
  double least = 0;
  double most = 0;
};

struct PluginOperation {
  const Operation* declaration = nullptr;
  std::uint64_t dtypes = 0;
  std::vector<PluginLimit> limits;
  decltype(draftmark_operation::query) query = nullptr;  // may be null
  decltype(draftmark_operation::run) run = nullptr;
};

struct PluginTable {
  std::string name;
  std::string version;
  PluginDevice device = PluginDevice::kCpu;
  std::vector<PluginOperation> operations;
  std::vector<std::uint32_t> architectures;  // empty: any
  std::optional<draftmark_session_table> session;

  const PluginOperation* Find(std::string_view id) const;  // null if there is none
  // "sum of squares 1.2 (cpu, 3 operations, no sessions)".
  std::string Describe() const;
};

// What a case is unsupported for by the table alone: a limit or a dtype. Empty: nothing.
std::string OutsideTheTable(const PluginOperation& operation, const OperationCase& c);

// UNIMPLEMENTED if the plug-in lists architectures and this one (90 for sm_90) is not among them.
Status CheckArchitecture(const PluginTable& table, std::uint32_t architecture);

// `table` may be null.
StatusOr<PluginTable> ReadPluginTable(const draftmark_plugin* table);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_TABLE_H_
