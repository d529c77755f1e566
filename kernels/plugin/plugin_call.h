// PluginCall: one case of an operation as the interface hands it to a plug-in, and its answer.
//
//   DM_ASSIGN_OR_RETURN(PluginCall call, PluginCall::Create(c));
//   const PluginAnswer answer = call.Query(operation);
//   for (std::size_t i = 0; i < call.operand_count(); ++i) call.Place(i, address);
//   call.Run(operation, workspace, stream)
//
// Operands are those of MakeOperands(c), in its order. Whoever calls Run sees to the memory.
// Movable, not copyable; one thread at a time.
#ifndef DRAFTMARK_KERNELS_PLUGIN_PLUGIN_CALL_H_
#define DRAFTMARK_KERNELS_PLUGIN_PLUGIN_CALL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/plugin/draftmark_plugin.h"
#include "kernels/plugin/plugin_table.h"
#include "src/base/status.h"
#include "src/operations/operation.h"

namespace draftmark::plugin {

// Why there is no result: unsupported is no failure.
enum class PluginResult { kOk, kUnsupported, kFailed };

struct PluginAnswer {
  PluginResult result = PluginResult::kOk;
  // What kind of failure: "failed" if the plug-in said so itself, "crash", "hang", "exit",
  // "garbage" (service_process.h), "device error", "wrote outside", "changed an input",
  // "contradiction".
  std::string kind = {};
  std::string message = {};
  std::uint64_t workspace_bytes = 0;  // of a query

  bool ok() const { return result == PluginResult::kOk; }
};

PluginAnswer FailedAnswer(std::string kind, std::string message);

// Of one case. More than any kernel needs, and far from what makes a machine swap.
inline constexpr std::uint64_t kMostWorkspace = std::uint64_t{1} << 30;
// An answer to a query; a contradiction if it asks for more.
PluginAnswer LimitWorkspace(PluginAnswer answer);

// A draftmark_message to hand over, and what was written to it as one printable line.
class MessageBuffer {
 public:
  draftmark_message* get() { return &message_; }
  // What `result` and the text say.
  PluginAnswer Answer(draftmark_result result) const;
  // What `call`, a call of the plug-in's, and the text say. A C++ exception is a "crash": nobody
  // knows what is left behind it.
  PluginAnswer AnswerOf(const std::function<draftmark_result()>& call) const;

 private:
  std::array<char, 512> text_ = {};
  draftmark_message message_ = {text_.data(), text_.size()};
};

// "threw a C++ exception: out of luck", printable; to be called while it is handled.
std::string DescribeException();

class PluginCall {
 public:
  // Those of OperandShape, and UNIMPLEMENTED for a dtype that the interface does not have.
  static StatusOr<PluginCall> Create(const OperationCase& c);

  std::size_t operand_count() const { return operands_.size(); }
  const draftmark_operand& operand(std::size_t i) const { return operands_[i]; }
  void Place(std::size_t i, void* address) { operands_[i].data = address; }

  // By the table first. Of an operation without a query all else is supported.
  PluginAnswer Query(const PluginOperation& operation);
  PluginAnswer Run(const PluginOperation& operation, void* workspace, std::uint64_t workspace_bytes,
                   void* stream);

 private:
  explicit PluginCall(const OperationCase& c) : c_(c), id_(c.Id()) {}
  draftmark_call Call();

  OperationCase c_;
  std::string id_;
  std::vector<draftmark_operand> operands_;
  std::vector<const draftmark_operand*> list_;
  std::vector<Shape> shapes_;
  std::vector<Shape> strides_;
  std::vector<std::string> names_;  // of the numbers
  std::vector<draftmark_number> numbers_;
};

// The sizes and flags of a case and the attributes of its operation, under their names.
std::vector<std::pair<std::string, double>> NumbersOf(const OperationCase& c);

}  // namespace draftmark::plugin

#endif  // DRAFTMARK_KERNELS_PLUGIN_PLUGIN_CALL_H_
