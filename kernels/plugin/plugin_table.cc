#include "kernels/plugin/plugin_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "src/operations/registry.h"

namespace draftmark::plugin {
namespace {

// Far more than the registry has, and few enough to be told from garbage.
constexpr std::uint32_t kMostOperations = 1024;
constexpr std::uint32_t kMostArchitectures = 64;
constexpr std::uint32_t kMostLimits = 64;

struct DTypePair {
  draftmark_dtype plugin;
  DType dtype;
};
constexpr DTypePair kDTypes[] = {{DRAFTMARK_BF16, DType::kBF16}, {DRAFTMARK_F16, DType::kF16},
                                 {DRAFTMARK_F32, DType::kF32},   {DRAFTMARK_F64, DType::kF64},
                                 {DRAFTMARK_I32, DType::kI32},   {DRAFTMARK_U32, DType::kU32},
                                 {DRAFTMARK_I64, DType::kI64}};

constexpr std::uint64_t KnownDTypes() {
  std::uint64_t bits = 0;
  for (const DTypePair& pair : kDTypes) bits |= DRAFTMARK_DTYPE_BIT(pair.plugin);
  return bits;
}

Status Refuse(std::string_view field, std::string_view expected, std::string_view found) {
  return InvalidArgumentError(
      fmt::format("plug-in table: {}: expected {}, found {}", field, expected, found));
}

// A name or version: short, ended, and fit to be printed.
StatusOr<std::string> ReadName(const char* text, const std::string& field) {
  if (text == nullptr) return Refuse(field, "a string", "NULL");
  const std::size_t length = ::strnlen(text, DRAFTMARK_PLUGIN_LONGEST_NAME + 1);
  if (length > DRAFTMARK_PLUGIN_LONGEST_NAME) {
    return Refuse(field,
                  fmt::format("at most {} characters and a NUL", DRAFTMARK_PLUGIN_LONGEST_NAME),
                  "more characters without one");
  }
  if (length == 0) return Refuse(field, "a name", "an empty string");
  const auto bad = std::find_if(text, text + length, [](char c) { return c < ' ' || c > '~'; });
  if (bad != text + length) {
    return Refuse(
        field, "printable ASCII",
        fmt::format("the byte {:#04x} at {}", static_cast<unsigned char>(*bad), bad - text));
  }
  return std::string(text, length);
}

Status CheckSize(const std::string& field, std::uint32_t found, std::size_t expected) {
  if (found >= expected) return OkStatus();
  return Refuse(field + ".struct_size", fmt::format("at least {}", expected),
                std::to_string(found));
}

Status CheckCount(const std::string& field, std::uint32_t count, std::uint32_t most,
                  const void* list) {
  if (count > most) return Refuse(field, fmt::format("at most {}", most), std::to_string(count));
  if (count > 0 && list == nullptr) {
    return Refuse(field, "0 where the list is NULL", std::to_string(count));
  }
  return OkStatus();
}

bool HasNumber(const Operation& operation, std::string_view name) {
  const auto& keys = operation.keys;
  return std::find(keys.begin(), keys.end(), name) != keys.end() ||
         std::any_of(operation.attributes.begin(), operation.attributes.end(),
                     [&](const Attribute& attribute) { return attribute.name == name; });
}

StatusOr<PluginLimit> ReadLimit(const draftmark_limit& limit, const std::string& field,
                                const PluginOperation& operation) {
  DM_ASSIGN_OR_RETURN(std::string name, ReadName(limit.name, field + ".name"));
  if (!HasNumber(*operation.declaration, name)) {
    return Refuse(field + ".name",
                  fmt::format("a size or an attribute of {}", operation.declaration->name),
                  fmt::format("\"{}\"", name));
  }
  for (const PluginLimit& other : operation.limits) {
    if (other.name == name) {
      return Refuse(field + ".name", "one limit of a name", fmt::format("\"{}\" twice", name));
    }
  }
  // Also where one of them is no number.
  if (!(limit.least <= limit.most)) {
    return Refuse(field, "least at most most",
                  fmt::format("least {} and most {} of \"{}\"", limit.least, limit.most, name));
  }
  return PluginLimit{std::move(name), limit.least, limit.most};
}

StatusOr<PluginOperation> ReadOperation(const draftmark_operation* source, const std::string& field,
                                        const PluginTable& table) {
  if (source == nullptr) return Refuse(field, "an operation", "NULL");
  DM_RETURN_IF_ERROR(CheckSize(field, source->struct_size, sizeof(*source)));
  DM_ASSIGN_OR_RETURN(const std::string id, ReadName(source->id, field + ".id"));
  const std::string named = fmt::format("{} ({})", field, id);
  PluginOperation operation;
  operation.declaration = FindOperation(id);
  if (operation.declaration == nullptr) {
    return Refuse(field + ".id", "an operation of the registry", fmt::format("\"{}\"", id));
  }
  if (table.Find(id) != nullptr) {
    return Refuse(field + ".id", "each operation once", fmt::format("\"{}\" twice", id));
  }
  if (source->run == nullptr) return Refuse(named + ".run", "a function", "NULL");
  operation.run = source->run;
  operation.query = source->query;
  operation.dtypes = source->dtypes;
  if (source->dtypes == 0 || (source->dtypes & ~KnownDTypes()) != 0) {
    return Refuse(named + ".dtypes", fmt::format("some of the bits {:#x}", KnownDTypes()),
                  fmt::format("{:#x}", source->dtypes));
  }
  DM_RETURN_IF_ERROR(
      CheckCount(named + ".limit_count", source->limit_count, kMostLimits, source->limits));
  for (std::uint32_t i = 0; i < source->limit_count; ++i) {
    DM_ASSIGN_OR_RETURN(
        PluginLimit limit,
        ReadLimit(source->limits[i], fmt::format("{}.limits[{}]", named, i), operation));
    operation.limits.push_back(std::move(limit));
  }
  return operation;
}

Status ReadArchitectures(const draftmark_plugin& source, PluginTable& table) {
  DM_RETURN_IF_ERROR(CheckCount("architecture_count", source.architecture_count, kMostArchitectures,
                                source.architectures));
  if (table.device == PluginDevice::kCpu && source.architecture_count > 0) {
    return Refuse("architecture_count", "0 on the CPU", std::to_string(source.architecture_count));
  }
  for (std::uint32_t i = 0; i < source.architecture_count; ++i) {
    const std::uint32_t architecture = source.architectures[i];
    if (architecture < 10 || architecture > 9999) {
      return Refuse(fmt::format("architectures[{}]", i),
                    "a compute capability such as 90 for sm_90", std::to_string(architecture));
    }
    table.architectures.push_back(architecture);
  }
  return OkStatus();
}

Status ReadSession(const draftmark_session_table& source, PluginTable& table) {
  DM_RETURN_IF_ERROR(CheckSize("session", source.struct_size, sizeof(source)));
  const std::pair<const char*, bool> functions[] = {
      {"create", source.create != nullptr},
      {"append_context", source.append_context != nullptr},
      {"drop_front", source.drop_front != nullptr},
      {"reset", source.reset != nullptr},
      {"propose", source.propose != nullptr},
      {"destroy", source.destroy != nullptr}};
  for (const auto& [name, there] : functions) {
    if (!there) return Refuse(fmt::format("session.{}", name), "a function", "NULL");
  }
  table.session = source;
  return OkStatus();
}

}  // namespace

std::string_view PluginDeviceName(PluginDevice device) {
  return device == PluginDevice::kCpu ? "cpu" : "cuda";
}

std::optional<draftmark_dtype> PluginDType(DType dtype) {
  for (const DTypePair& pair : kDTypes) {
    if (pair.dtype == dtype) return pair.plugin;
  }
  return std::nullopt;
}

std::optional<DType> DTypeOf(draftmark_dtype dtype) {
  for (const DTypePair& pair : kDTypes) {
    if (pair.plugin == dtype) return pair.dtype;
  }
  return std::nullopt;
}

const PluginOperation* PluginTable::Find(std::string_view id) const {
  for (const PluginOperation& operation : operations) {
    if (operation.declaration->name == id) return &operation;
  }
  return nullptr;
}

std::string PluginTable::Describe() const {
  std::string text = fmt::format("{} {} ({}", name, version, PluginDeviceName(device));
  for (const std::uint32_t architecture : architectures)
    text += fmt::format(" sm_{}", architecture);
  return text + fmt::format(", {} operation{}, {})", operations.size(),
                            operations.size() == 1 ? "" : "s",
                            session ? "draft sessions" : "no draft sessions");
}

std::string OutsideTheTable(const PluginOperation& operation, const OperationCase& c) {
  for (const PluginLimit& limit : operation.limits) {
    // Checked when the table was read: what is no key is an attribute.
    const double value = c.keys.Has(limit.name) ? static_cast<double>(c.keys[limit.name])
                                                : operation.declaration->attribute(limit.name);
    if (value < limit.least || value > limit.most) {
      return fmt::format("{}={} is outside of the plug-in's limits [{}, {}]", limit.name, value,
                         limit.least, limit.most);
    }
  }
  for (const OperandSpec& spec : operation.declaration->operands) {
    const std::optional<draftmark_dtype> dtype = PluginDType(spec.dtype);
    if (!dtype || (operation.dtypes & DRAFTMARK_DTYPE_BIT(*dtype)) == 0) {
      return fmt::format("operand {} is {}, which is not among the plug-in's dtypes", spec.name,
                         DTypeName(spec.dtype));
    }
  }
  return "";
}

Status CheckArchitecture(const PluginTable& table, std::uint32_t architecture) {
  const std::vector<std::uint32_t>& listed = table.architectures;
  if (listed.empty() || std::count(listed.begin(), listed.end(), architecture) > 0) {
    return OkStatus();
  }
  return UnimplementedError(
      fmt::format("the GPU is sm_{}, which {} does not list", architecture, table.Describe()));
}

StatusOr<PluginTable> ReadPluginTable(const draftmark_plugin* table) {
  if (table == nullptr) {
    return InvalidArgumentError(fmt::format("{} returned NULL: the plug-in has no table for ABI {}",
                                            DRAFTMARK_PLUGIN_ENTRY_NAME, DRAFTMARK_PLUGIN_ABI));
  }
  // These two fields are where they are in every version.
  if (table->abi != DRAFTMARK_PLUGIN_ABI) {
    return Refuse("abi", fmt::format("{}, which this program knows", DRAFTMARK_PLUGIN_ABI),
                  std::to_string(table->abi));
  }
  DM_RETURN_IF_ERROR(CheckSize("table", table->struct_size, sizeof(*table)));
  PluginTable read;
  DM_ASSIGN_OR_RETURN(read.name, ReadName(table->name, "name"));
  DM_ASSIGN_OR_RETURN(read.version, ReadName(table->version, "version"));
  if (table->device != DRAFTMARK_CPU && table->device != DRAFTMARK_CUDA) {
    return Refuse("device", fmt::format("{} (CPU) or {} (CUDA)", DRAFTMARK_CPU, DRAFTMARK_CUDA),
                  std::to_string(table->device));
  }
  read.device = table->device == DRAFTMARK_CPU ? PluginDevice::kCpu : PluginDevice::kCuda;
  DM_RETURN_IF_ERROR(ReadArchitectures(*table, read));
  DM_RETURN_IF_ERROR(
      CheckCount("operation_count", table->operation_count, kMostOperations, table->operations));
  for (std::uint32_t i = 0; i < table->operation_count; ++i) {
    DM_ASSIGN_OR_RETURN(
        PluginOperation operation,
        ReadOperation(table->operations[i], fmt::format("operations[{}]", i), read));
    read.operations.push_back(std::move(operation));
  }
  if (table->session != nullptr) DM_RETURN_IF_ERROR(ReadSession(*table->session, read));
  if (read.operations.empty() && !read.session) {
    return Refuse("operation_count", "an operation or a session", "neither");
  }
  return read;
}

}  // namespace draftmark::plugin
