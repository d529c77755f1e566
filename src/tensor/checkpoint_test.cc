#include <fmt/format.h>

#include "src/base/status_matchers.h"
#include "src/base/test_folder.h"
#include "src/tensor/safetensors.h"
#include "src/tensor/safetensors_samples.h"

namespace draftmark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kIndex[] = "model.safetensors.index.json";

class CheckpointTest : public ::testing::Test {
 protected:
  // A file of one-byte tensors: the name's first letter is the data.
  void WriteShard(const std::string& file, const std::vector<std::string>& tensors) {
    std::string entries;
    std::string data;
    for (const std::string& tensor : tensors) {
      entries += fmt::format(
          "{}{}", entries.empty() ? "" : ",",
          EntryJson(tensor, "U8", "1", fmt::format("{},{}", data.size(), data.size() + 1)));
      data += tensor[0];
    }
    ASSERT_THAT(WriteTextFile(folder_.Path(file), SafetensorsBytes("{" + entries + "}", data)),
                IsOk());
  }
  void WriteIndex(const std::string& weight_map) {
    ASSERT_THAT(WriteTextFile(folder_.Path(kIndex),
                              R"({"metadata":{"total_size":3},"weight_map":)" + weight_map + "}"),
                IsOk());
  }
  StatusOr<Checkpoint> Open() { return Checkpoint::Open(folder_.path()); }
  // DATA_LOSS that names the index.
  auto IndexError(const std::string& what) {
    return StatusIs(StatusCode::kDataLoss,
                    AllOf(StartsWith(folder_.Path(kIndex)), HasSubstr(what)));
  }

  const TestFolder folder_;
};

std::string Text(const StatusOr<TensorView>& view) {
  if (!view.ok()) return view.status().ToString();
  return std::string(reinterpret_cast<const char*>(view->bytes.data()), view->bytes.size());
}

TEST_F(CheckpointTest, SingleFileByPathOrFolder) {
  WriteShard("model.safetensors", {"b", "a"});
  for (const std::string& path :
       {folder_.path(), folder_.path() + "/", folder_.Path("model.safetensors")}) {
    DM_ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path));
    EXPECT_THAT(checkpoint.names(), ElementsAre("a", "b"));
    EXPECT_THAT(checkpoint.shards(), SizeIs(1));
    EXPECT_TRUE(checkpoint.Has("a"));
    EXPECT_EQ(Text(checkpoint.Get("a", DType::kU8, {1})), "a");
  }
}

TEST_F(CheckpointTest, TheOnlyFileOfAFolder) {
  WriteShard("weights.safetensors", {"a"});
  EXPECT_THAT(Open(), IsOk());
  WriteShard("more.safetensors", {"a"});
  EXPECT_THAT(Open(), StatusIs(StatusCode::kNotFound,
                               AllOf(HasSubstr(folder_.path()),
                                     HasSubstr("found more.safetensors, weights.safetensors"))));
  WriteShard("model.safetensors", {"m"});
  DM_ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, Open());
  EXPECT_THAT(checkpoint.names(), ElementsAre("m"));
}

TEST_F(CheckpointTest, NothingThere) {
  EXPECT_THAT(Open(), StatusIs(StatusCode::kNotFound, HasSubstr("found none of them")));
  EXPECT_THAT(Checkpoint::Open(folder_.Path("no")),
              StatusIs(StatusCode::kNotFound, HasSubstr("no")));
  EXPECT_THAT(Checkpoint::Open(folder_.Path("no.index.json")),
              StatusIs(StatusCode::kNotFound, HasSubstr("no.index.json")));
}

TEST_F(CheckpointTest, ShardsThroughTheIndexWhichWins) {
  WriteShard("model-1.safetensors", {"c", "a"});
  WriteShard("model-2.safetensors", {"b"});
  WriteShard("model.safetensors", {"z"});
  WriteIndex(R"({"a":"model-1.safetensors","b":"model-2.safetensors","c":"model-1.safetensors"})");
  for (const std::string& path : {folder_.path(), folder_.Path(kIndex)}) {
    DM_ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(path));
    EXPECT_EQ(checkpoint.path(), folder_.Path(kIndex));
    EXPECT_THAT(checkpoint.names(), ElementsAre("a", "b", "c"));
    EXPECT_THAT(checkpoint.shards(), SizeIs(2));
    for (const std::string& name : checkpoint.names()) {
      EXPECT_EQ(Text(checkpoint.Get(name)), name);
    }
    EXPECT_THAT(checkpoint.Get("z"),
                StatusIs(StatusCode::kNotFound,
                         AllOf(HasSubstr(kIndex), HasSubstr("'z': not among the checkpoint's 3"))));
    EXPECT_THAT(checkpoint.Get("z", DType::kU8, {1}),
                StatusIs(StatusCode::kNotFound, HasSubstr("'z'")));
    EXPECT_THAT(
        checkpoint.Get("b", DType::kI8, {1}),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("model-2.safetensors: tensor 'b'"),
                                                     HasSubstr("expected I8 [1], found U8 [1]"))));
  }
}

TEST_F(CheckpointTest, TensorsOutsideTheIndexAreNoPart) {
  WriteShard("s.safetensors", {"a", "extra"});
  WriteIndex(R"({"a":"s.safetensors"})");
  DM_ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, Open());
  EXPECT_THAT(checkpoint.names(), ElementsAre("a"));
  EXPECT_FALSE(checkpoint.Has("extra"));
}

TEST_F(CheckpointTest, MissingShard) {
  WriteIndex(R"({"a":"gone.safetensors"})");
  EXPECT_THAT(Open(), StatusIs(StatusCode::kNotFound, AllOf(StartsWith(folder_.Path(kIndex)),
                                                            HasSubstr("shard 'gone.safetensors'"),
                                                            HasSubstr("No such file"))));
}

TEST_F(CheckpointTest, MalformedShard) {
  ASSERT_THAT(WriteTextFile(folder_.Path("s.safetensors"), "short"), IsOk());
  WriteIndex(R"({"a":"s.safetensors"})");
  EXPECT_THAT(Open(), IndexError("s.safetensors: truncated: expected at least 8 bytes"));
}

TEST_F(CheckpointTest, TensorNotInItsShard) {
  WriteShard("one.safetensors", {"a"});
  WriteShard("two.safetensors", {"b"});
  WriteIndex(R"({"a":"two.safetensors","b":"two.safetensors"})");
  EXPECT_THAT(Open(), IndexError("tensor 'a': expected in shard 'two.safetensors', found in no"));
  WriteIndex(R"({"a":"two.safetensors","b":"one.safetensors"})");
  EXPECT_THAT(Open(), IndexError("tensor 'a': expected in shard 'two.safetensors', found in " +
                                 folder_.Path("one.safetensors")));
}

TEST_F(CheckpointTest, TensorInTwoShards) {
  WriteShard("one.safetensors", {"a", "b"});
  WriteShard("two.safetensors", {"b", "c"});
  WriteIndex(R"({"a":"one.safetensors","b":"two.safetensors"})");
  EXPECT_THAT(Open(), IndexError("tensor 'b': expected in one shard, found in " +
                                 folder_.Path("one.safetensors") + " and " +
                                 folder_.Path("two.safetensors")));
}

TEST_F(CheckpointTest, ShardNamesStayBesideTheIndex) {
  WriteShard("s.safetensors", {"a"});
  for (const std::string_view name :
       {"../s.safetensors", "/etc/passwd", "..", ".", "", "sub/s.safetensors", "./s.safetensors",
        "..\\\\s.safetensors", "s.safetensors\\u0000"}) {
    WriteIndex(fmt::format(R"({{"a":"{}"}})", name));
    EXPECT_THAT(Open(),
                IndexError("tensor 'a': expected the name of a file beside the index, found \""))
        << name;
  }
  WriteIndex(R"({"a":7})");
  EXPECT_THAT(Open(), IndexError("tensor 'a': expected the name of a file beside the index, found "
                                 "7"));
}

TEST_F(CheckpointTest, MalformedIndex) {
  WriteShard("s.safetensors", {"a"});
  WriteIndex("{}");
  EXPECT_THAT(Open(), IndexError("weight_map: expected at least one tensor"));
  WriteIndex("[]");
  EXPECT_THAT(Open(), IndexError("weight_map: expected at least one tensor"));
  WriteIndex(R"({"a":"s.safetensors","a":"s.safetensors"})");
  EXPECT_THAT(Open(), IndexError("weight_map.a: key given twice"));
  for (const char* text : {"{}", "[]", "7"}) {
    ASSERT_THAT(WriteTextFile(folder_.Path(kIndex), text), IsOk());
    EXPECT_THAT(Open(), IndexError("expected an object with weight_map, found"));
  }
  ASSERT_THAT(WriteTextFile(folder_.Path(kIndex), "{"), IsOk());
  EXPECT_THAT(Open(), IndexError("not valid JSON"));
}

TEST_F(CheckpointTest, ATensorOfAnotherCheckpointIsAdopted) {
  WriteShard("drafter.safetensors", {"fc", "norm"});
  WriteShard("target.safetensors", {"embed", "head", "norm"});
  DM_ASSERT_OK_AND_ASSIGN(Checkpoint drafter,
                          Checkpoint::Open(folder_.Path("drafter.safetensors")));
  {
    DM_ASSERT_OK_AND_ASSIGN(const Checkpoint target,
                            Checkpoint::Open(folder_.Path("target.safetensors")));
    ASSERT_THAT(drafter.Adopt(target, "embed", "embed_tokens.weight"), IsOk());
    ASSERT_THAT(drafter.Adopt(target, "head", "lm_head.weight"), IsOk());
    EXPECT_THAT(drafter.Adopt(target, "absent", "x"),
                StatusIs(StatusCode::kNotFound, HasSubstr("target.safetensors: tensor 'absent'")));
    EXPECT_THAT(
        drafter.Adopt(target, "norm", "norm"),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("drafter.safetensors: tensor 'norm'")));
  }
  // Readable without the other object.
  EXPECT_THAT(drafter.names(), ElementsAre("embed_tokens.weight", "fc", "lm_head.weight", "norm"));
  EXPECT_EQ(Text(drafter.Get("embed_tokens.weight")), "e");
  EXPECT_EQ(Text(drafter.Get("lm_head.weight", DType::kU8, {1})), "h");
  EXPECT_EQ(Text(drafter.Get("norm")), "n");
}

}  // namespace
}  // namespace draftmark
