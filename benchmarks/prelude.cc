#include "benchmarks/prelude.h"

#include <algorithm>
#include <memory>

#include "benchmarks/replay/timed_operation.h"
#include "kernels/registry/device_operations.h"
#include "src/base/check.h"

namespace draftmark {
namespace {

constexpr int kPreludeSamples = 5;

void RunOne(ReplayKit& kit, const OperationCase& c, CacheState cache) {
  const kernels::DeviceOperation* const operation = kernels::FindDeviceOperation(c.operation->name);
  DM_CHECK(operation != nullptr);  // tested: every operation has a kernel
  const StatusOr<std::unique_ptr<TimedOperation>> timed =
      TimedOperation::Create(kit, c, *operation, {.cache = cache, .most_judged_flops = 0});
  for (int i = 0; timed.ok() && i < kPreludeSamples; ++i) {
    if (!(*timed)->Run().ok()) return;
  }
}

}  // namespace

void RunPrelude(ReplayKit& kit, std::span<const OperationCase> cases, CacheState cache) {
  for (const OperationCase& c : cases.first(std::min(kPrelude, cases.size()))) {
    RunOne(kit, c, cache);
  }
}

}  // namespace draftmark
