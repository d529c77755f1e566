// Checkpoints that share the target's embedding.
#include "src/weights/drafter_checkpoint.h"

#include <span>
#include <string>
#include <vector>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/tensor/bfloat16.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

class DrafterCheckpointTest : public ::testing::Test {
 protected:
  Checkpoint Open(const std::string& name, const std::vector<std::string>& tensors) {
    // Each tensor tells its name's length.
    SafetensorsWriter writer;
    std::vector<BFloat16> values;
    values.reserve(tensors.size());
    for (const std::string& tensor : tensors) {
      values.push_back(BFloat16::FromDouble(static_cast<double>(tensor.size())));
      const TensorView view = {DType::kBF16, {1}, std::as_bytes(std::span(&values.back(), 1))};
      EXPECT_THAT(writer.Add(tensor, view), IsOk());
    }
    EXPECT_THAT(writer.Write(folder_.Path(name)), IsOk());
    return Checkpoint::Open(folder_.Path(name)).value();
  }
  static double Value(const Checkpoint& checkpoint, const std::string& name) {
    return ToDoubles(checkpoint.Get(name).value()).value()[0];
  }
  const TestFolder folder_;
};

TEST_F(DrafterCheckpointTest, EmbeddingAndHeadComeFromTheTarget) {
  Checkpoint drafter = Open("d.safetensors", {"fc.weight"});
  const Checkpoint target =
      Open("t.safetensors", {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"});
  ASSERT_THAT(AdoptTargetTensors(target, drafter), IsOk());
  EXPECT_EQ(Value(drafter, "embed_tokens.weight"), 25);
  EXPECT_EQ(Value(drafter, "lm_head.weight"), 14);
  EXPECT_FALSE(drafter.Has("model.norm.weight"));
}

TEST_F(DrafterCheckpointTest, ATiedTargetLendsItsEmbeddingTwice) {
  Checkpoint drafter = Open("d.safetensors", {"fc.weight"});
  const Checkpoint target = Open("t.safetensors", {"language_model.model.embed_tokens.weight"});
  ASSERT_THAT(AdoptTargetTensors(target, drafter), IsOk());
  EXPECT_EQ(Value(drafter, "embed_tokens.weight"), Value(drafter, "lm_head.weight"));
}

TEST_F(DrafterCheckpointTest, TheDraftersOwnTensorsStay) {
  Checkpoint drafter = Open("d.safetensors", {"model.embed_tokens.weight", "lm_head.weight"});
  const Checkpoint target = Open("t.safetensors", {"embed_tokens.weight"});
  ASSERT_THAT(AdoptTargetTensors(target, drafter), IsOk());
  EXPECT_FALSE(drafter.Has("embed_tokens.weight"));
}

TEST_F(DrafterCheckpointTest, ATargetWithoutEmbeddingIsRefused) {
  Checkpoint drafter = Open("d.safetensors", {"fc.weight"});
  const Checkpoint target = Open("t.safetensors", {"lm_head.weight"});
  EXPECT_THAT(AdoptTargetTensors(target, drafter),
              StatusIs(StatusCode::kNotFound, HasSubstr("model.embed_tokens.weight")));
}

TEST_F(DrafterCheckpointTest, OpensBothOrSaysWhatIsMissing) {
  Open("d.safetensors", {"fc.weight"});
  Open("own.safetensors", {"embed_tokens.weight"});
  Open("t.safetensors", {"model.embed_tokens.weight"});
  DM_ASSERT_OK_AND_ASSIGN(
      const Checkpoint both,
      OpenDrafterCheckpoint(folder_.Path("d.safetensors"), folder_.Path("t.safetensors")));
  EXPECT_EQ(Value(both, "lm_head.weight"), 25);
  EXPECT_THAT(OpenDrafterCheckpoint(folder_.Path("own.safetensors"), ""), IsOk());
  EXPECT_THAT(OpenDrafterCheckpoint(folder_.Path("d.safetensors"), ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected --target-weights")));
  EXPECT_THAT(
      OpenDrafterCheckpoint(folder_.Path("d.safetensors"), folder_.Path("absent.safetensors")),
      StatusIs(StatusCode::kNotFound, HasSubstr("absent.safetensors")));
}

}  // namespace
}  // namespace draftmark
