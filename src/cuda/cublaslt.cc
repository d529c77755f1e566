#include "src/cuda/cublaslt.h"

#include <map>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

#include "fmt/format.h"
#include "src/cuda/cublaslt_library.h"

namespace draftmark {
namespace {

// Alignment that every operand must have: 16-byte loads, and what the heuristics are told.
constexpr std::uint32_t kAlignment = 16;

Status CublasStatus(const CublasLtFunctions& lt, cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return OkStatus();
  StatusCode code = StatusCode::kInternal;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) code = StatusCode::kUnimplemented;
  if (status == CUBLAS_STATUS_NOT_INITIALIZED) code = StatusCode::kUnavailable;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) code = StatusCode::kResourceExhausted;
  if (status == CUBLAS_STATUS_INVALID_VALUE) code = StatusCode::kInvalidArgument;
  return Status(code, fmt::format("{}: {}", call, lt.get_status_name(status)));
}

// An owned object of the library, destroyed by the library's function for it.
template <typename Handle>
struct Destroyer {
  cublasStatus_t (*destroy)(Handle) = nullptr;
  void operator()(Handle handle) const { (void)destroy(handle); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Handle>>;

using Description = Owned<cublasLtMatmulDesc_t>;
using Layout = Owned<cublasLtMatrixLayout_t>;
using Preference = Owned<cublasLtMatmulPreference_t>;

// cuBLASLt is column-major: a row-major matrix is its transpose there, so that the library computes
// y^T [n, rows] = W^T' [n, k] * x^T [k, rows].
struct Plan {
  Description description;
  Layout weight;
  Layout x;
  Layout y;
  cublasLtMatmulAlgo_t algorithm{};
};

std::int64_t StrideOf(const GemmArgs& args) { return args.y_stride > 0 ? args.y_stride : args.n; }

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, GemmOutput, std::uint64_t,
                       std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Key KeyOf(const GemmArgs& args) {
  return {args.rows,        args.n,
          args.k,           args.bias != nullptr,
          args.output,      args.workspace_bytes,
          StrideOf(args),   args.count,
          args.weight_step, args.y_step};
}

std::string ShapeText(const GemmArgs& args) {
  std::string text = fmt::format("cuBLASLt rows={},n={},k={}", args.rows, args.n, args.k);
  if (args.bias != nullptr) text += ",bias";
  if (args.count > 1) text += fmt::format(",count={}", args.count);
  return text;
}

// Columns of `rows` elements each, `stride` apart.
StatusOr<Layout> MakeLayout(const CublasLtFunctions& lt, cudaDataType type, std::int64_t rows,
                            std::int64_t columns, std::int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  DM_RETURN_IF_ERROR(
      CublasStatus(lt,
                   lt.matrix_layout_create(&layout, type, static_cast<std::uint64_t>(rows),
                                           static_cast<std::uint64_t>(columns), stride),
                   "cublasLtMatrixLayoutCreate"));
  return Layout(layout, {lt.matrix_layout_destroy});
}

// A layout of several matrices, `apart` elements from one to the next; 0: the same one again.
Status SetCount(const CublasLtFunctions& lt, const Layout& layout, std::int64_t matrices,
                std::int64_t apart) {
  const auto count = static_cast<std::int32_t>(matrices);
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    return CublasStatus(
        lt, lt.matrix_layout_set_attribute(layout.get(), attribute, &value, sizeof(value)),
        "cublasLtMatrixLayoutSetAttribute");
  };
  DM_RETURN_IF_ERROR(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count));
  return set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, apart);
}

template <typename T>
Status SetAttribute(const CublasLtFunctions& lt, const Description& description,
                    cublasLtMatmulDescAttributes_t attribute, const T& value) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): where T is a pointer, the pointer is the value.
  constexpr std::size_t kBytes = sizeof(T);
  return CublasStatus(lt,
                      lt.matmul_desc_set_attribute(description.get(), attribute, &value, kBytes),
                      "cublasLtMatmulDescSetAttribute");
}

StatusOr<Description> MakeDescription(const CublasLtFunctions& lt, const GemmArgs& args) {
  cublasLtMatmulDesc_t made = nullptr;
  DM_RETURN_IF_ERROR(CublasStatus(lt, lt.matmul_desc_create(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                                  "cublasLtMatmulDescCreate"));
  Description description(made, {lt.matmul_desc_destroy});
  const cublasOperation_t transposed = CUBLAS_OP_T;
  DM_RETURN_IF_ERROR(SetAttribute(lt, description, CUBLASLT_MATMUL_DESC_TRANSA, transposed));
  if (args.bias != nullptr) {
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const cudaDataType type = CUDA_R_16BF;
    DM_RETURN_IF_ERROR(SetAttribute(lt, description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
    DM_RETURN_IF_ERROR(SetAttribute(lt, description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type));
    // The heuristics look at the pointer's alignment.
    DM_RETURN_IF_ERROR(SetAttribute(lt, description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias));
  }
  return description;
}

StatusOr<Preference> MakePreference(const CublasLtFunctions& lt, std::uint64_t workspace_bytes) {
  cublasLtMatmulPreference_t made = nullptr;
  DM_RETURN_IF_ERROR(
      CublasStatus(lt, lt.matmul_preference_create(&made), "cublasLtMatmulPreferenceCreate"));
  Preference preference(made, {lt.matmul_preference_destroy});
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return CublasStatus(
        lt, lt.matmul_preference_set_attribute(preference.get(), attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
  };
  DM_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes));
  // Neither atomics nor partial sums in BF16.
  const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  DM_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes));
  DM_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kAlignment));
  DM_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignment));
  DM_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kAlignment));
  DM_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kAlignment));
  return preference;
}

StatusOr<Plan> MakePlan(const CublasLtFunctions& lt, cublasLtHandle_t handle,
                        const GemmArgs& args) {
  Plan plan;
  const cudaDataType output = args.output == GemmOutput::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
  DM_ASSIGN_OR_RETURN(plan.description, MakeDescription(lt, args));
  DM_ASSIGN_OR_RETURN(plan.weight, MakeLayout(lt, CUDA_R_16BF, args.k, args.n, args.k));
  DM_ASSIGN_OR_RETURN(plan.x, MakeLayout(lt, CUDA_R_16BF, args.k, args.rows, args.k));
  DM_ASSIGN_OR_RETURN(plan.y, MakeLayout(lt, output, args.n, args.rows, StrideOf(args)));
  if (args.count > 1) {
    DM_RETURN_IF_ERROR(SetCount(lt, plan.weight, args.count, args.weight_step));
    DM_RETURN_IF_ERROR(SetCount(lt, plan.x, args.count, 0));
    DM_RETURN_IF_ERROR(SetCount(lt, plan.y, args.count, args.y_step));
  }
  DM_ASSIGN_OR_RETURN(const Preference preference, MakePreference(lt, args.workspace_bytes));
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  DM_RETURN_IF_ERROR(CublasStatus(
      lt,
      lt.matmul_algo_get_heuristic(handle, plan.description.get(), plan.weight.get(), plan.x.get(),
                                   plan.y.get(), plan.y.get(), preference.get(),
                                   /*requestedAlgoCount=*/1, &best, &found),
      "cublasLtMatmulAlgoGetHeuristic"));
  if (found == 0) return UnimplementedError("cublasLtMatmulAlgoGetHeuristic: no algorithm");
  DM_RETURN_IF_ERROR(CublasStatus(lt, best.state, "cublasLtMatmulAlgoGetHeuristic"));
  plan.algorithm = best.algo;
  return plan;
}

bool Aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % kAlignment == 0;
}

Status Check(const GemmArgs& args) {
  if (args.rows < 1 || args.n < 1 || args.k < 1) {
    return InvalidArgumentError(ShapeText(args) + ": every size is at least 1");
  }
  for (const void* pointer :
       {static_cast<const void*>(args.x), static_cast<const void*>(args.weight),
        static_cast<const void*>(args.y)}) {
    if (pointer == nullptr) return InvalidArgumentError(ShapeText(args) + ": null pointer");
    if (!Aligned(pointer)) {
      return InvalidArgumentError(ShapeText(args) + ": operands are aligned to 16 bytes");
    }
  }
  if (args.count < 1 || args.count > INT32_MAX) {
    return InvalidArgumentError(ShapeText(args) + ": there is at least one product");
  }
  const std::int64_t bytes = args.output == GemmOutput::kBf16 ? sizeof(BFloat16) : sizeof(float);
  if (args.weight_step < 0 || args.y_step < 0 ||
      args.weight_step * sizeof(BFloat16) % kAlignment != 0 ||
      args.y_step * bytes % kAlignment != 0) {
    return InvalidArgumentError(ShapeText(args) +
                                ": distances are not negative, and aligned to 16 bytes");
  }
  if (args.y_stride < 0 || StrideOf(args) < args.n ||
      (args.y_stride > 0 && args.y_stride * bytes % kAlignment != 0)) {
    return InvalidArgumentError(
        fmt::format("{}: y_stride holds a row and is aligned to 16 bytes, found {}",
                    ShapeText(args), args.y_stride));
  }
  if (args.count > 1 && args.y_step == 0) {
    return InvalidArgumentError(ShapeText(args) + ": several products have a result each");
  }
  if (args.count > 1 && args.bias != nullptr) {
    return InvalidArgumentError(ShapeText(args) + ": several products take no bias");
  }
  if (!Aligned(args.bias)) {
    return InvalidArgumentError(ShapeText(args) + ": the bias is aligned to 16 bytes");
  }
  if (args.bias != nullptr && args.output == GemmOutput::kF32) {
    return InvalidArgumentError(ShapeText(args) + ": an FP32 output takes no bias");
  }
  return OkStatus();
}

class CublasLtLibrary final : public CublasLt {
 public:
  CublasLtLibrary(CublasLtFunctions lt, Owned<cublasLtHandle_t> handle)
      : lt_(std::move(lt)), handle_(std::move(handle)) {}

  Status Multiply(const GemmArgs& args, cudaStream_t stream) override {
    DM_RETURN_IF_ERROR(Check(args));
    // Held over the launch as well: the bias pointer is part of the shared description.
    const std::lock_guard lock(mutex_);
    auto found = plans_.find(KeyOf(args));
    if (found == plans_.end()) {
      StatusOr<Plan> plan = MakePlan(lt_, handle_.get(), args);
      if (!plan.ok()) return plan.status().Annotated(ShapeText(args));
      found = plans_.emplace(KeyOf(args), *std::move(plan)).first;
    }
    const Plan& plan = found->second;
    if (args.bias != nullptr) {
      DM_RETURN_IF_ERROR(
          SetAttribute(lt_, plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias));
    }
    const float beta = 0;
    return CublasStatus(lt_,
                        lt_.matmul(handle_.get(), plan.description.get(), &args.alpha, args.weight,
                                   plan.weight.get(), args.x, plan.x.get(), &beta, args.y,
                                   plan.y.get(), args.y, plan.y.get(), &plan.algorithm,
                                   args.workspace, args.workspace_bytes, stream),
                        "cublasLtMatmul")
        .Annotated(ShapeText(args));
  }

 private:
  const CublasLtFunctions lt_;
  const Owned<cublasLtHandle_t> handle_;
  std::mutex mutex_;
  std::map<Key, Plan> plans_;
};

}  // namespace

StatusOr<std::unique_ptr<CublasLt>> CublasLt::Create() {
  DM_ASSIGN_OR_RETURN(CublasLtFunctions lt, LoadCublasLt());
  cublasLtHandle_t made = nullptr;
  DM_RETURN_IF_ERROR(CublasStatus(lt, lt.create(&made), "cublasLtCreate"));
  Owned<cublasLtHandle_t> handle(made, {lt.destroy});
  return std::unique_ptr<CublasLt>(
      std::make_unique<CublasLtLibrary>(std::move(lt), std::move(handle)));
}

}  // namespace draftmark
