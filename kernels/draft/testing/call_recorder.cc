#include "kernels/draft/testing/call_recorder.h"

#include <array>

#if __has_include(<cupti_callbacks.h>)
#include <cupti_callbacks.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/cuda/cublaslt_library.h"
#endif

namespace draftmark::kernels {
namespace {

bool Contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

}  // namespace

CallKind KindOfCall(std::string_view name) {
  if (name == "cudaEventSynchronize" || name == "cuEventSynchronize") return CallKind::kEventWaits;
  if (Contains(name, "Synchronize")) return CallKind::kWaits;
  // Copies and fills without a stream wait, or may.
  for (const std::string_view copy : {"cudaMemcpy", "cudaMemset", "cuMemcpy", "cuMemset"}) {
    if (name.starts_with(copy) && !Contains(name, "Async")) return CallKind::kWaits;
  }
  constexpr std::array kParts = {
      "Malloc",         "Free",         "MemAlloc",     "HostAlloc",   "HostRegister",
      "HostUnregister", "MemPool",      "MemCreate",    "MemRelease",  "MemMap",
      "AddressReserve", "ArrayCreate",  "Instantiate",  "GraphCreate", "GraphUpload",
      "ExecUpdate",     "BeginCapture", "StreamCreate", "EventCreate", "CtxCreate",
      "ModuleLoad",     "LibraryLoad",  "Destroy",      "DeviceReset", "SetLimit"};
  for (const std::string_view part : kParts) {
    if (Contains(name, part)) return CallKind::kAllocates;
  }
  return CallKind::kOther;
}

#if !__has_include(<cupti_callbacks.h>)
StatusOr<std::unique_ptr<CallRecorder>> CallRecorder::Create() {
  return UnavailableError("CUPTI is needed: the toolkit that built this program has none");
}
#else
namespace {

std::vector<std::string> Candidates() {
  // Beside cuBLASLt, of the same version of CUDA; npos + 1 is 0 for the bare name.
  const std::string soname = fmt::format("libcupti.so.{}", kCublasLtMajorVersion);
  std::vector<std::string> candidates;
  for (const std::string& path : CublasLtCandidates()) {
    candidates.push_back(path.substr(0, path.rfind('/') + 1) + soname);
  }
  return candidates;
}

struct Cupti {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;

  bool Bind(void* library) {
    const auto bind = [&](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    return bind("cuptiSubscribe", subscribe) && bind("cuptiUnsubscribe", unsubscribe) &&
           bind("cuptiEnableDomain", enable_domain) && bind("cuptiGetResultString", result_string);
  }
};

// "cuMemcpyHtoDAsync" of "cuMemcpyHtoDAsync_v2_ptsz".
std::string_view WithoutSuffix(std::string_view name) {
  for (std::size_t i = name.find("_v"); i != std::string_view::npos; i = name.find("_v", i + 1)) {
    if (i + 2 < name.size() && std::isdigit(static_cast<unsigned char>(name[i + 2])) != 0) {
      return name.substr(0, i);
    }
  }
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

class CuptiRecorder final : public CallRecorder {
 public:
  explicit CuptiRecorder(const Cupti& cupti) : cupti_(cupti) {}
  ~CuptiRecorder() override {
    if (subscriber_ != nullptr) (void)cupti_.unsubscribe(subscriber_);
  }

  Status Subscribe() {
    return StatusOf(cupti_.subscribe(&subscriber_, OnCall, this), "cuptiSubscribe");
  }
  Status Start() override {
    const std::lock_guard lock(mutex_);
    counts_.clear();
    return Enable(1);
  }
  StatusOr<CallCounts> Stop() override {
    DM_RETURN_IF_ERROR(Enable(0));
    const std::lock_guard lock(mutex_);
    return std::exchange(counts_, {});
  }

 private:
  Status StatusOf(CUptiResult result, std::string_view call) const {
    if (result == CUPTI_SUCCESS) return OkStatus();
    const char* text = nullptr;
    (void)cupti_.result_string(result, &text);
    return UnavailableError(fmt::format("{}: {}", call, text != nullptr ? text : "unknown error"));
  }
  Status Enable(std::uint32_t on) {
    for (const CUpti_CallbackDomain domain :
         {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
      DM_RETURN_IF_ERROR(
          StatusOf(cupti_.enable_domain(on, subscriber_, domain), "cuptiEnableDomain"));
    }
    return OkStatus();
  }
  static void CUPTIAPI OnCall(void* recorder, CUpti_CallbackDomain /*domain*/,
                              CUpti_CallbackId /*id*/, const void* data) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (call.callbackSite != CUPTI_API_ENTER || call.functionName == nullptr) return;
    auto& self = *static_cast<CuptiRecorder*>(recorder);
    const std::lock_guard lock(self.mutex_);
    ++self.counts_[std::string(WithoutSuffix(call.functionName))];
  }

  const Cupti cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex mutex_;
  CallCounts counts_;
};

}  // namespace

StatusOr<std::unique_ptr<CallRecorder>> CallRecorder::Create() {
  const std::vector<std::string> candidates = Candidates();
  for (const std::string& candidate : candidates) {
    // Stays open: callbacks may still be running when a recorder is destroyed.
    void* const library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    Cupti cupti;
    if (library == nullptr || !cupti.Bind(library)) continue;
    auto recorder = std::make_unique<CuptiRecorder>(cupti);
    DM_RETURN_IF_ERROR(recorder->Subscribe());
    return std::unique_ptr<CallRecorder>(std::move(recorder));
  }
  return UnavailableError(
      fmt::format("CUPTI is needed: looked for {}", fmt::join(candidates, ", ")));
}
#endif

}  // namespace draftmark::kernels
