#include "kernels/plugin/plugin_call.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "src/tensor/tensor_view.h"

namespace draftmark::plugin {
namespace {

draftmark_role RoleOf(OperandRole role) {
  switch (role) {
    case OperandRole::kInput:
      return DRAFTMARK_INPUT;
    case OperandRole::kOutput:
      return DRAFTMARK_OUTPUT;
    case OperandRole::kInOut:
      return DRAFTMARK_INOUT;
  }
  return DRAFTMARK_INPUT;
}

std::string Printable(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c < ' ' || c > '~') c = c == '\n' || c == '\t' ? ' ' : '?';
  }
  return line;
}

Shape DenseStrides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace

PluginAnswer FailedAnswer(std::string kind, std::string message) {
  return {PluginResult::kFailed, std::move(kind), std::move(message), 0};
}

std::string DescribeException() {
  try {
    throw;
  } catch (const std::exception& exception) {
    return fmt::format("threw a C++ exception: {}", Printable(exception.what()));
  } catch (...) {
    return "threw a C++ exception that is no std::exception";
  }
}

PluginAnswer MessageBuffer::AnswerOf(const std::function<draftmark_result()>& call) const {
  try {
    return Answer(call());
  } catch (...) {
    return FailedAnswer("crash", DescribeException());
  }
}

PluginAnswer MessageBuffer::Answer(draftmark_result result) const {
  const std::string text = Printable({text_.data(), ::strnlen(text_.data(), text_.size())});
  switch (result) {
    case DRAFTMARK_OK:
      return {};
    case DRAFTMARK_UNSUPPORTED:
      return {
          PluginResult::kUnsupported, {}, text.empty() ? "the plug-in gave no reason" : text, 0};
    case DRAFTMARK_FAILED:
      return FailedAnswer("failed", text.empty() ? "the plug-in gave no reason" : text);
    default:
      return FailedAnswer("contradiction",
                          fmt::format("answered {}, which is no result of the interface", result));
  }
}

PluginAnswer LimitWorkspace(PluginAnswer answer) {
  if (!answer.ok() || answer.workspace_bytes <= kMostWorkspace) return answer;
  return FailedAnswer("contradiction",
                      fmt::format("asks for a workspace of {} bytes, {} are allowed",
                                  answer.workspace_bytes, kMostWorkspace));
}

std::vector<std::pair<std::string, double>> NumbersOf(const OperationCase& c) {
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& [name, value] : c.keys.values()) {
    numbers.emplace_back(name, static_cast<double>(value));
  }
  for (const Attribute& attribute : c.operation->attributes) {
    numbers.emplace_back(attribute.name, attribute.value);
  }
  return numbers;
}

StatusOr<PluginCall> PluginCall::Create(const OperationCase& c) {
  PluginCall call(c);
  for (const OperandSpec& spec : c.operation->operands) {
    if (!OperandExists(spec, c.keys)) continue;
    DM_ASSIGN_OR_RETURN(Shape shape, OperandShape(spec, c.keys));
    DM_ASSIGN_OR_RETURN(const std::uint64_t bytes, TensorBytes(spec.dtype, shape));
    const std::optional<draftmark_dtype> dtype = PluginDType(spec.dtype);
    if (!dtype) {
      return UnimplementedError(fmt::format("{}: operand {}: the plug-in interface has no {}",
                                            call.id_, spec.name, DTypeName(spec.dtype)));
    }
    call.strides_.push_back(DenseStrides(shape));
    call.shapes_.push_back(std::move(shape));
    // Names in a declaration are literals, so they end with a NUL.
    call.operands_.push_back({.struct_size = sizeof(draftmark_operand),
                              .rank = static_cast<std::uint32_t>(call.shapes_.back().size()),
                              .dtype = *dtype,
                              .role = RoleOf(spec.role),
                              .name = spec.name.data(),
                              .data = nullptr,
                              .bytes = bytes,
                              .shape = nullptr,
                              .strides = nullptr});
  }
  for (auto& [name, value] : NumbersOf(c)) {
    call.names_.push_back(std::move(name));
    call.numbers_.push_back({nullptr, value});
  }
  return call;
}

// Points into members, which may have moved since.
draftmark_call PluginCall::Call() {
  list_.clear();
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    operands_[i].shape = shapes_[i].data();
    operands_[i].strides = strides_[i].data();
    list_.push_back(&operands_[i]);
  }
  for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i].name = names_[i].c_str();
  return {.struct_size = sizeof(draftmark_call),
          .operand_count = static_cast<std::uint32_t>(list_.size()),
          .operands = list_.data(),
          .numbers = numbers_.data(),
          .number_count = numbers_.size(),
          .operation = c_.operation->name.data(),
          .case_id = id_.c_str(),
          .workspace = nullptr,
          .workspace_bytes = 0,
          .stream = nullptr};
}

PluginAnswer PluginCall::Query(const PluginOperation& operation) {
  if (std::string outside = OutsideTheTable(operation, c_); !outside.empty()) {
    return {PluginResult::kUnsupported, {}, std::move(outside), 0};
  }
  if (operation.query == nullptr) return {};
  MessageBuffer message;
  std::uint64_t workspace_bytes = 0;
  const draftmark_call call = Call();
  PluginAnswer answer =
      message.AnswerOf([&] { return operation.query(&call, &workspace_bytes, message.get()); });
  if (answer.ok()) answer.workspace_bytes = workspace_bytes;
  return answer;
}

PluginAnswer PluginCall::Run(const PluginOperation& operation, void* workspace,
                             std::uint64_t workspace_bytes, void* stream) {
  MessageBuffer message;
  draftmark_call call = Call();
  call.workspace = workspace_bytes > 0 ? workspace : nullptr;
  call.workspace_bytes = workspace_bytes;
  call.stream = stream;
  PluginAnswer answer = message.AnswerOf([&] { return operation.run(&call, message.get()); });
  if (answer.result == PluginResult::kUnsupported && operation.query != nullptr) {
    return FailedAnswer("contradiction",
                        "its query supports the case, but run says unsupported: " + answer.message);
  }
  return answer;
}

}  // namespace draftmark::plugin
