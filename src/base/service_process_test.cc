#include "src/base/service_process.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "src/base/spawn.h"
#include "src/base/status_matchers.h"
#include "src/base/test_data.h"

namespace draftmark {
namespace {

using ::testing::HasSubstr;

constexpr double kPatience = 60;

class ServiceProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DM_ASSERT_OK_AND_ASSIGN(file_, OutputFile::Create());
    ASSERT_EQ(::write(file_->fd(), "shared", 6), 6);
    DM_ASSERT_OK_AND_ASSIGN(
        service_,
        ServiceProcess::Start({TestData("src/base/echo_service"), "an argument"}, {file_->fd()}));
  }
  ServiceReply Ask(const std::string& request, double seconds = kPatience) {
    return service_->Ask(std::as_bytes(std::span<const char>(request)), seconds);
  }
  static std::string Text(const ServiceReply& reply) {
    std::string text(reply.bytes.size(), '\0');
    if (!text.empty()) std::memcpy(text.data(), reply.bytes.data(), text.size());
    return text;
  }

  std::optional<OutputFile> file_;
  std::unique_ptr<ServiceProcess> service_;
};

TEST_F(ServiceProcessTest, AnswersOneRequestAfterTheOther) {
  EXPECT_EQ(Text(Ask("hello")), "hello");
  EXPECT_EQ(Text(Ask("")), "");
  EXPECT_EQ(Text(Ask("argument")), "an argument");
  EXPECT_EQ(Text(Ask("inherited")), "shared");
}

// Larger than any buffer of a socket, in both directions.
TEST_F(ServiceProcessTest, TakesLongMessages) {
  std::string request(20 << 20, 'x');
  request.back() = 'y';
  EXPECT_EQ(Text(Ask(request)), request);
}

TEST_F(ServiceProcessTest, TellsACrash) {
  const ServiceReply reply = Ask("crash");
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "crash");
  EXPECT_EQ(reply.ending->Describe(), "crashed: signal 11 (Segmentation fault)");
}

TEST_F(ServiceProcessTest, TellsAnExitAndWhatWasPrinted) {
  const ServiceReply reply = Ask("exit");
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "exit");
  EXPECT_EQ(reply.ending->Describe(),
            "ended its process with exit code 3; printed last: that was it");
}

// At once, though the connection is open until the child ends as well.
TEST_F(ServiceProcessTest, TellsAnExitThatLeavesAChild) {
  const ServiceReply reply = Ask("leave");
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->Describe(), "ended its process with exit code 4");
}

// A zombie until somebody reaps it, but no more than that.
TEST_F(ServiceProcessTest, WhatItStartedGoesWithIt) {
  const ServiceReply reply = Ask("sleeper", 2);
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "hang");
  const std::string stat = "/proc/" + reply.ending->output + "/stat";
  for (int i = 0; i < 1000; ++i) {
    std::ifstream file(stat);
    std::string line;
    if (!std::getline(file, line) || line.find(") Z ") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << stat << " is still there";
}

TEST_F(ServiceProcessTest, EndsAFlood) {
  const ServiceReply reply = Ask("flood");
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "garbage");
  EXPECT_THAT(reply.ending->Describe(),
              ::testing::StartsWith("printed more than 64 MiB; printed last: xxx"));
}

TEST_F(ServiceProcessTest, WhatWasPrintedIsPrintable) {
  EXPECT_EQ(Ask("colours").ending->Describe("just now"),
            "ended its process with exit code 3 just now; printed last: [31mred[0m");
}

// Else the second one would be the answer to the next request.
TEST_F(ServiceProcessTest, AReplyTooManyIsGarbage) {
  EXPECT_EQ(Text(Ask("twice")), "twice");
  const ServiceReply reply = Ask("hello");
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "garbage");
}

TEST_F(ServiceProcessTest, KillsWhatHangs) {
  const ServiceReply reply = Ask("hang", 0.2);
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "hang");
  EXPECT_EQ(reply.ending->Describe(), "did not return within 0.2 s");
}

TEST_F(ServiceProcessTest, TakesNoGarbage) {
  const ServiceReply reply = Ask("huge");
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "garbage");
  EXPECT_EQ(reply.ending->Describe(), "broke its connection");
}

TEST_F(ServiceProcessTest, ACloserThatLivesOnIsKilled) {
  const ServiceReply reply = Ask("close");
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->KindName(), "garbage");
}

TEST(ServiceProcessStartTest, NoSuchProgram) {
  EXPECT_THAT(ServiceProcess::Start({"/nowhere/service"}, {}).status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("cannot start /nowhere/service")));
}

// A program that is no service: it ends without a word.
TEST(ServiceProcessStartTest, AProgramThatDoesNotAnswer) {
  DM_ASSERT_OK_AND_ASSIGN(const auto service, ServiceProcess::Start({"false"}, {}));
  const ServiceReply reply = service->Ask({}, kPatience);
  ASSERT_TRUE(reply.ending);
  EXPECT_EQ(reply.ending->Describe(), "ended its process with exit code 1");
}

}  // namespace
}  // namespace draftmark
