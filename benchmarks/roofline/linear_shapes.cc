#include "benchmarks/roofline/linear_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace draftmark {
namespace {

struct Matrix {
  std::string_view role;
  std::uint64_t n;
  std::uint64_t k;
};

// By spec/drafter.md section 1.1; what a drafter lacks has no rows.
std::vector<Matrix> MatricesOf(const DrafterConfig& c) {
  const std::uint64_t h = c.hidden_size;
  const std::uint64_t wide = c.intermediate_size;
  const std::uint64_t conv =
      c.conv_kernel_size > 0 ? 2 * c.conv_kernel_size * (h / c.conv_group_size) : 0;
  return {
      {"fc", h, c.tap_width()},
      {"K and V of all layers", c.num_hidden_layers * 2 * c.kv_dim(), h},
      {"q", c.q_dim(), h},
      {"k", c.kv_dim(), h},
      {"v", c.kv_dim(), h},
      {"q|k|v", c.q_dim() + 2 * c.kv_dim(), h},
      {"o", h, c.q_dim()},
      {"gate", wide, h},
      {"up", wide, h},
      {"gate|up", 2 * wide, h},
      {"down", h, wide},
      {"conv projection", conv, h},
      {"selector projection", c.selector_rank, h},
      {"lm_head", c.vocab_size, h},
  };
}

std::string NameOf(const RooflineWork& work) {
  const std::string_view id = work.draft.id;
  const std::size_t begin = id.find('/') + 1;
  return std::string(id.substr(begin, id.find('/', begin) - begin));
}

}  // namespace

std::string LinearShape::Id(std::uint64_t rows) const {
  return fmt::format("linear/rows={},n={},k={}", rows, n, k);
}

std::vector<LinearShape> LinearShapes(std::span<const RooflineWork> works) {
  std::vector<LinearShape> shapes;
  for (const RooflineWork& work : works) {
    const std::string prefix = NameOf(work) + ": ";
    for (const Matrix& matrix : MatricesOf(work.draft.config)) {
      if (matrix.n == 0) continue;
      const auto found = std::find_if(shapes.begin(), shapes.end(), [&](const LinearShape& s) {
        return s.n == matrix.n && s.k == matrix.k;
      });
      if (found == shapes.end()) {
        shapes.push_back({matrix.n, matrix.k, prefix + std::string(matrix.role)});
      } else if (found->used_as.starts_with(prefix) &&
                 (found->used_as + ",").find(fmt::format(" {},", matrix.role)) ==
                     std::string::npos) {
        // Of a shape that several drafters have, the first one's uses are enough.
        found->used_as += fmt::format(", {}", matrix.role);
      }
    }
  }
  std::stable_sort(shapes.begin(), shapes.end(), [](const LinearShape& a, const LinearShape& b) {
    return a.bytes() < b.bytes();
  });
  return shapes;
}

ChainPlan PlanChain(std::uint64_t weight_bytes, std::uint64_t l2_bytes) {
  const auto cover = [](std::uint64_t bytes, std::uint64_t each) {
    return (bytes + each - 1) / each;
  };
  ChainPlan plan;
  plan.copies = cover(std::max(2 * l2_bytes, kLeastOtherBytes), weight_bytes) + 1;
  const std::uint64_t calls = std::max(kLeastChainCalls, cover(kLeastChainBytes, weight_bytes));
  plan.calls = cover(calls, plan.copies) * plan.copies;
  return plan;
}

}  // namespace draftmark
