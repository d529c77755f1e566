#include <fmt/format.h>

#include <map>

#include "conformance/golden/file_bytes.h"
#include "conformance/golden/golden_set.h"
#include "conformance/operations/check_operation.h"
#include "src/base/sha256.h"
#include "src/operations/registry.h"

namespace draftmark {
namespace {

// Name of an output in the file: the keys of the case, then the operand.
std::string TensorName(const OperationCase& c, std::string_view output) {
  std::string keys;
  for (const auto& [key, value] : c.keys.values()) {
    keys += fmt::format("{}{}={}", keys.empty() ? "" : ",", key, value);
  }
  return fmt::format("{}/{}", keys, output);
}

void DigestInputs(const OperandSet& operands, Sha256& digest) {
  for (const Operand& operand : operands.operands()) {
    if (operand.role == OperandRole::kOutput) continue;
    DigestTensor(operand.name, operand.view(), digest);
  }
}

std::string ToleranceOf(const Operation& operation) {
  std::string classes;
  const OperationCase c = BoundaryCases(operation).front();
  for (const OperandSpec& spec : operation.operands) {
    if (spec.role == OperandRole::kInput) continue;
    const std::string_view name =
        ToleranceClassName(operation.tolerance(c.keys, spec.name).tolerance);
    if (classes.find(name) == std::string::npos)
      classes += (classes.empty() ? "" : ", ") + std::string(name);
  }
  return classes;
}

}  // namespace

StatusOr<GoldenFile> MakeOperationFile(const Operation& operation) {
  GoldenFile file;
  file.entry.path = fmt::format("operations/{}.safetensors", operation.name);
  file.entry.kind = "operation";
  file.entry.generator = GeneratorName();
  file.entry.seed = "case id, operand name and index of each element";
  file.entry.precision =
      fmt::format("float64, rounded where section {} of spec/drafter.md rounds", operation.rule);
  file.entry.tolerance = ToleranceOf(operation);
  file.entry.agreement = "float64 reference and the operation's direct formula";
  Sha256 inputs;
  TensorsInMemory tensors;
  for (const OperationCase& c : BoundaryCases(operation)) {
    for (const Precision precision : {Precision::kExact, Precision::kBf16}) {
      DM_ASSIGN_OR_RETURN(const OperationReport report, CheckReference(c, precision));
      if (!report.passed()) return InternalError(ReportText(report));
    }
    DM_ASSIGN_OR_RETURN(const OperandSet operands, MakeOperands(c));
    DigestInputs(operands, inputs);
    const OperandValues values = operation.reference(c, operands, Precision::kBf16);
    for (const auto& [name, output] : values) {
      const Operand& operand = operands.Get(name);
      DM_RETURN_IF_ERROR(tensors.Add(TensorName(c, name), operand.dtype, operand.shape, output));
    }
    file.entry.cases.push_back(c.Id());
  }
  file.entry.inputs_sha256 = inputs.Finish();
  DM_ASSIGN_OR_RETURN(file.bytes, tensors.Serialize());
  SealEntry(file);
  return file;
}

}  // namespace draftmark
