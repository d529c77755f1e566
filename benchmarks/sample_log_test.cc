#include "benchmarks/sample_log.h"

#include <string>

#include "src/base/faulty_file_system.h"
#include "src/base/json.h"
#include "src/base/memory_file_system.h"
#include "src/base/status_matchers.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

SampledRun Sampled() {
  SampledRun run;
  run.raw = {{.seconds = 1.5e-6, .voided = {}},
             {.seconds = 2e-6, .voided = {.throttle = true, .clock = true}},
             {.seconds = 2.5e-6, .voided = {.processes = true, .ecc = true}},
             {.seconds = 3e-6, .voided = {.clock = true}}};
  return run;
}

TEST(SampleLogTest, ALineHasSamplesAndWhatVoidsThem) {
  EXPECT_EQ(SampleLine("op/a/rows=1/bf16", Sampled()),
            R"({"draftmark_samples":1,"name":"op/a/rows=1/bf16","invalid":"",)"
            R"("samples_ns":[1500.0,2000.0,2500.0,3000.0],)"
            R"("void":{"clock":[1,3],"throttle":[1],"ecc":[2],"processes":[2]}})"
            "\n");
  SampledRun invalid;
  invalid.invalid = "9 of 30 samples are void";
  const Json json = Json::parse(SampleLine("a", invalid));
  EXPECT_EQ(json["invalid"], "9 of 30 samples are void");
  EXPECT_EQ(json["samples_ns"], Json::array());
  EXPECT_EQ(json["void"], Json::object());
}

TEST(SampleLogTest, TheFileIsThereOnceItIsWhole) {
  MemoryFileSystem files;
  DM_ASSERT_OK_AND_ASSIGN(SampleLog log, SampleLog::Open("s.jsonl", files));
  EXPECT_THAT(log.Add("a", Sampled()), IsOk());
  EXPECT_THAT(log.Add("a", Sampled()), IsOk());
  EXPECT_FALSE(files.IsFile("s.jsonl"));
  EXPECT_THAT(log.Close(), IsOk());
  EXPECT_EQ(ReadTextFile("s.jsonl", files).value(),
            SampleLine("a", Sampled()) + SampleLine("a", Sampled()));
}

TEST(SampleLogTest, NobodyAsked) {
  MemoryFileSystem files;
  DM_ASSERT_OK_AND_ASSIGN(SampleLog log, SampleLog::Open("", files));
  EXPECT_THAT(log.Add("a", Sampled()), IsOk());
  EXPECT_THAT(log.Close(), IsOk());
}

TEST(SampleLogTest, AFullDiskIsAnError) {
  MemoryFileSystem files;
  FaultyFileSystem full({.short_append = 1}, files);
  DM_ASSERT_OK_AND_ASSIGN(SampleLog log, SampleLog::Open("s.jsonl", full));
  EXPECT_THAT(log.Add("a", Sampled()), IsOk());
  EXPECT_THAT(log.Add("a", Sampled()),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("s.jsonl")));
  EXPECT_FALSE(log.Close().ok());
  EXPECT_FALSE(files.IsFile("s.jsonl"));
  EXPECT_FALSE(SampleLog::Open("no/such/folder/s.jsonl").ok());
}

}  // namespace
}  // namespace draftmark
