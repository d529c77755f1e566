#include "tools/python/c_abi.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/python/calls.h"

struct draftmark_answer {
  int status = 0;
  std::string text;
  std::vector<draftmark::python::OwnedTensor> tensors;
  std::vector<std::string> dtypes;
  std::vector<draftmark_tensor> views;
};

namespace {

using draftmark::StatusCode;
using draftmark::StatusOr;
using draftmark::python::NamedViews;
using draftmark::python::Reply;

StatusOr<NamedViews> Views(const draftmark_tensor* tensors, std::size_t count) {
  NamedViews views;
  for (std::size_t i = 0; i < count; ++i) {
    const draftmark_tensor& tensor = tensors[i];
    const auto dtype = draftmark::DTypeFromName(tensor.dtype);
    if (!dtype) {
      return draftmark::InvalidArgumentError(std::string(tensor.name) + ": expected a dtype of " +
                                             "safetensors, found " + tensor.dtype);
    }
    const draftmark::Shape shape(tensor.shape, tensor.shape + tensor.rank);
    auto view = draftmark::MakeTensorView(
        *dtype, shape, {static_cast<const std::byte*>(tensor.data), tensor.bytes});
    if (!view.ok()) return view.status().Annotated(tensor.name);
    if (!views.emplace(tensor.name, *std::move(view)).second) {
      return draftmark::InvalidArgumentError(std::string(tensor.name) + ": is there twice");
    }
  }
  return views;
}

StatusOr<Reply> Call(const char* call, const char* request, const draftmark_tensor* tensors,
                     std::size_t count) {
  DM_ASSIGN_OR_RETURN(const NamedViews views, Views(tensors, count));
  return draftmark::python::Answer(call, request, views);
}

void Fill(Reply reply, draftmark_answer& answer) {
  answer.text = reply.json.dump(-1, ' ', false, draftmark::OrderedJson::error_handler_t::replace);
  answer.tensors = std::move(reply.tensors);
  for (const auto& tensor : answer.tensors) answer.dtypes.emplace_back(DTypeName(tensor.dtype));
  for (std::size_t i = 0; i < answer.tensors.size(); ++i) {
    const auto& tensor = answer.tensors[i];
    answer.views.push_back({tensor.name.c_str(), answer.dtypes[i].c_str(), tensor.shape.data(),
                            tensor.shape.size(), tensor.bytes.data(), tensor.bytes.size()});
  }
}

void Fail(int status, std::string text, draftmark_answer& answer) {
  answer = {};
  answer.status = status;
  answer.text = std::move(text);
}

}  // namespace

int draftmark_abi_version(void) { return DRAFTMARK_ABI_VERSION; }

draftmark_answer* draftmark_call(const char* call, const char* request,
                                 const draftmark_tensor* tensors, std::size_t count) {
  auto answer = std::make_unique<draftmark_answer>();
  // Libraries below throw where memory ends; Python would lose the process.
  try {
    StatusOr<Reply> reply = Call(call, request, tensors, count);
    if (reply.ok()) {
      Fill(*std::move(reply), *answer);
    } else {
      Fail(static_cast<int>(reply.status().code()), reply.status().message(), *answer);
    }
  } catch (const std::bad_alloc&) {
    Fail(static_cast<int>(StatusCode::kResourceExhausted), "out of memory", *answer);
  } catch (const std::exception& error) {
    Fail(static_cast<int>(StatusCode::kInternal), error.what(), *answer);
  }
  return answer.release();
}

int draftmark_answer_status(const draftmark_answer* answer) { return answer->status; }

const char* draftmark_answer_text(const draftmark_answer* answer) { return answer->text.c_str(); }

std::size_t draftmark_answer_tensor_count(const draftmark_answer* answer) {
  return answer->views.size();
}

const draftmark_tensor* draftmark_answer_tensor(const draftmark_answer* answer, std::size_t index) {
  return index < answer->views.size() ? &answer->views[index] : nullptr;
}

void draftmark_answer_free(draftmark_answer* answer) { delete answer; }
