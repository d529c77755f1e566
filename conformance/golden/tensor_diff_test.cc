#include "conformance/golden/tensor_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<BFloat16> Values(std::initializer_list<double> values) {
  std::vector<BFloat16> result;
  for (const double value : values) result.push_back(BFloat16::FromDouble(value));
  return result;
}

std::shared_ptr<const FileBytes> File(const std::vector<BFloat16>& x, Shape shape,
                                      const std::vector<std::uint32_t>& ids,
                                      const std::string& extra = "") {
  SafetensorsWriter writer;
  EXPECT_THAT(writer.Add("x", {DType::kBF16, std::move(shape), std::as_bytes(std::span(x))}),
              IsOk());
  EXPECT_THAT(writer.Add("ids", {DType::kU32, {ids.size()}, std::as_bytes(std::span(ids))}),
              IsOk());
  if (!extra.empty()) {
    EXPECT_THAT(writer.Add(extra, {DType::kF32, {0}, {}}), IsOk());
  }
  MemoryFileSystem files;
  EXPECT_THAT(writer.Write("f.safetensors", files), IsOk());
  return files.Map("f.safetensors").value();
}

std::vector<TensorMove> Diff(std::shared_ptr<const FileBytes> before,
                             std::shared_ptr<const FileBytes> after) {
  return DiffFiles("f.safetensors", std::move(before), std::move(after)).value();
}

TEST(DiffFiles, NamesTheMovedTensorWithItsUlps) {
  const auto before = File(Values({1, 2, 3, std::nan("")}), {2, 2}, {7, 8});
  EXPECT_THAT(Diff(before, File(Values({1, 2, 3, std::nan("")}), {2, 2}, {7, 8})), IsEmpty());
  // The spacing at 2 is 2^-6: two steps.
  const auto moves = Diff(before, File(Values({1, 2.03125, 3, std::nan("")}), {2, 2}, {7, 8}));
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].name, "x");
  EXPECT_EQ(moves[0].moved, 1u);
  EXPECT_EQ(DescribeMove(moves[0]),
            "  x: moved, 1 of 4 elements; BF16 ULPs: 0: 3 | <=2: 1; worst [0, 1]: expected 2, got "
            "2.03125, 2 BF16 ULPs\n");
}

TEST(DiffFiles, ANewNanIsAMove) {
  const auto moves =
      Diff(File(Values({1, 2}), {2}, {7}), File(Values({1, std::nan("")}), {2}, {7}));
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].moved, 1u);
}

TEST(DiffFiles, IdsHaveNoUlps) {
  const auto moves = Diff(File(Values({1}), {1}, {7, 8}), File(Values({1}), {1}, {7, 9}));
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].name, "ids");
  EXPECT_EQ(moves[0].moved, 1u);
  EXPECT_THAT(moves[0].histogram, IsEmpty());
}

TEST(DiffFiles, ShapesTypesAndNamesAreNamed) {
  const auto before = File(Values({1, 2}), {2}, {7}, "old");
  const auto moves = Diff(before, File(Values({1, 2}), {1, 2}, {7, 7}, "new"));
  ASSERT_EQ(moves.size(), 4u);
  EXPECT_EQ(moves[0].what, "shape [1] -> [2]");  // ids
  EXPECT_EQ(moves[1].what, "added");
  EXPECT_EQ(moves[2].what, "removed");
  EXPECT_EQ(moves[3].what, "shape [2] -> [1, 2]");
}

TEST(DiffFiles, SignsOfZerosMoveNothingButAreSaid) {
  const auto moves = Diff(File(Values({0.0}), {1}, {7}), File(Values({-0.0}), {1}, {7}));
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].name, "header");
}

TEST(DiffFiles, DamagedFilesAreErrors) {
  MemoryFileSystem files;
  ASSERT_THAT(WriteTextFile("bad", "no tensors", files), IsOk());
  EXPECT_THAT(DiffFiles("f.safetensors", files.Map("bad").value(), File(Values({1}), {1}, {7})),
              StatusIs(StatusCode::kDataLoss, HasSubstr("f.safetensors (old)")));
  const std::vector<TensorMove> moves =
      DiffFiles("f.json", files.Map("bad").value(), File(Values({1}), {1}, {7})).value();
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_THAT(moves[0].what, HasSubstr("10 bytes -> "));
}

}  // namespace
}  // namespace draftmark
