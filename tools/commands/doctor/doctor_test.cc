// `draftmark doctor` on fake machines, and once on the one the test runs on.
#include <algorithm>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/file_system.h"
#include "src/base/json.h"
#include "src/base/status_matchers.h"
#include "tools/commands/doctor/doctor_command.h"
#include "tools/commands/doctor/fake_machine.h"
#include "tools/commands/run_command.h"

namespace draftmark {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr char kCatalogue[] = "golden/configs/drafter_configs.json";

// Everything is there: the catalogue is the real one.
struct WholeMachine : FakeMachine {
  WholeMachine() {
    const StatusOr<std::string> text = ReadTextFile(kCatalogue);
    EXPECT_THAT(text, IsOk());
    files[*catalogue] = text.ok() ? *text : "{}";
  }
};

struct Doctor {
  int code = 0;
  std::string out;
};
Doctor Examine(Machine& machine, const DoctorOptions& options = {}) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{out, err};
  RunDoctor(machine, options, context);
  EXPECT_THAT(err.str(), IsEmpty());
  return {context.exit_code, out.str()};
}

// The line about `name`.
std::string LineOf(const std::string& out, const std::string& name) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" " + name + ": ") != std::string::npos) return line;
  }
  return "no line about " + name;
}
std::string LineOf(Machine& machine, const std::string& name) {
  return LineOf(Examine(machine).out, name);
}

TEST(DoctorTest, WholeMachineHasEverything) {
  WholeMachine machine;
  const Doctor doctor = Examine(machine, {.gpu = true});
  EXPECT_EQ(doctor.code, 0);
  std::istringstream lines(doctor.out);
  int findings = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("this machine can ")) continue;
    EXPECT_THAT(line, MatchesRegex("OK [a-z0-9+-]+: [^;]+; [^;]+; [^;]+"));
    ++findings;
  }
  EXPECT_EQ(findings, 21);
  EXPECT_THAT(doctor.out, EndsWith("this machine can build, test and verify on the CPU\n"
                                   "this machine can run on a GPU\n"));
}

TEST(DoctorTest, EachBuildToolThatIsMissing) {
  const auto missing = [](const auto& change, const std::string& name, const std::string& found) {
    WholeMachine machine;
    change(machine);
    const Doctor doctor = Examine(machine);
    EXPECT_EQ(doctor.code, 1) << name;
    EXPECT_THAT(LineOf(doctor.out, name), MatchesRegex("(MISSING|OLD) " + name + ": .*"));
    EXPECT_THAT(LineOf(doctor.out, name), HasSubstr(found));
    EXPECT_THAT(doctor.out,
                HasSubstr("this machine cannot build, test and verify on the CPU: " + name + "\n"));
  };
  missing([](FakeMachine& m) { m.programs.erase("bazel"); }, "bazel", "not in PATH");
  missing([](FakeMachine& m) { m.bazel_package = "4.2.2"; }, "bazel", "4.2.3 or newer is needed");
  missing([](FakeMachine& m) { m.answers["/usr/bin/bazel"].output = "bazel 3.7.2\n"; }, "bazel",
          "(version 3.7.2), 4.2.3 or newer");
  missing([](FakeMachine& m) { m.programs.erase("g++"); }, "compiler", "no g++");
  missing([](FakeMachine& m) { m.answers["/usr/bin/g++"].output = "11.4.0\n"; }, "compiler",
          "(version 11.4.0), 12 or newer");
  missing([](FakeMachine& m) { m.packages.erase("libfmt-dev"); }, "packages",
          "12 of 13, not libfmt-dev;");
  missing([](FakeMachine& m) { m.removed.insert("git"); }, "packages", "12 of 13, not git;");
  missing([](FakeMachine& m) { m.locked.insert("/home/me"); }, "output-folder",
          "/home/me/.cache/bazel: /home/me cannot be written");
  missing([](FakeMachine& m) { m.free_disk = (std::uint64_t{6} << 30) - 1; }, "disk",
          "6.0 GiB free in /home/me");
  missing([](FakeMachine& m) { m.free_disk = UnavailableError("no answer"); }, "disk", "no answer");
  missing([](FakeMachine& m) { m.catalogue = std::nullopt; }, "golden", "no golden/configs/");
}

TEST(DoctorTest, BazelThatKnowsItsVersion) {
  WholeMachine machine;
  machine.answers["/usr/bin/bazel"].output = "bazel 7.7.1\n";
  EXPECT_THAT(LineOf(machine, "bazel"), HasSubstr("OK bazel: /usr/bin/bazel (version 7.7.1);"));
}

TEST(DoctorTest, DiskCacheOfBazelrc) {
  WholeMachine machine;
  machine.globs["/cache"] = {"/cache"};
  machine.files["/repo/.bazelrc"] = "build --color=no\n# build --disk_cache=/no\n";
  EXPECT_THAT(LineOf(machine, "disk-cache"), HasSubstr("no line about"));
  machine.files["/repo/user.bazelrc"] = "build --disk_cache=/cache/bazel --jobs=2\n";
  EXPECT_THAT(LineOf(machine, "disk-cache"), HasSubstr("OK disk-cache: /cache/bazel can be"));
  machine.locked.insert("/cache");
  EXPECT_THAT(LineOf(machine, "disk-cache"),
              HasSubstr("MISSING disk-cache: /cache/bazel: /cache cannot be written"));
}

TEST(DoctorTest, WithoutACheckoutNothingIsBuilt) {
  WholeMachine machine;
  machine.checkout = std::nullopt;
  machine.programs.erase("bazel");
  machine.programs.erase("g++");
  machine.packages.clear();
  const Doctor doctor = Examine(machine, {.gpu = true});
  EXPECT_EQ(doctor.code, 0);
  EXPECT_THAT(doctor.out, HasSubstr("MISSING bazel: "));
  EXPECT_THAT(doctor.out, Not(HasSubstr("cuda-toolkit")));
}

TEST(DoctorTest, ExtrasNeverFail) {
  WholeMachine machine;
  machine.answers.erase("python3");
  machine.programs.erase("ncu");
  machine.programs.erase("compute-sanitizer");
  machine.nvml = UnavailableError("no libnvidia-ml.so.1");
  machine.files["/proc/driver/nvidia/params"] = "RmProfilingAdminOnly: 1\n";
  machine.files["/repo/.venv/requirements.installed"] = "numpy==1.0\n";
  machine.files.erase("/repo/.sources/benchmark/VERSION");
  machine.packages.erase("lcov");
  machine.packages.erase("libjs-dygraphs");
  const Doctor doctor = Examine(machine, {.gpu = true});
  EXPECT_EQ(doctor.code, 0);
  for (const char* const name : {"pytorch", "ncu", "compute-sanitizer", "nvml", "profiling",
                                 "benchmark-sources", "chart-library", "check-tools"}) {
    EXPECT_THAT(LineOf(doctor.out, name), HasSubstr("MISSING ")) << name;
  }
  EXPECT_THAT(LineOf(doctor.out, "python-packages"), HasSubstr("OLD "));
  EXPECT_THAT(LineOf(doctor.out, "check-tools"),
              EndsWith("4 of 5, not lcov; tools/check, tools/fuzz and tools/bazel7; "
                       "tools/setup --checks, or apt-get install -y lcov"));
  machine.root = true;
  EXPECT_THAT(LineOf(machine, "profiling"), HasSubstr("OK profiling: for root alone, and this is"));
}

TEST(DoctorTest, GpuIsRequiredOnDemand) {
  const auto lacks = [](const auto& change, const std::string& name, const std::string& found) {
    WholeMachine machine;
    change(machine);
    EXPECT_EQ(Examine(machine).code, 0) << name;
    const Doctor doctor = Examine(machine, {.gpu = true});
    EXPECT_EQ(doctor.code, 1) << name;
    EXPECT_THAT(LineOf(doctor.out, name), HasSubstr(found));
    EXPECT_THAT(doctor.out, HasSubstr("this machine cannot run on a GPU: " + name + "\n"));
  };
  lacks([](FakeMachine& m) { m.files.erase("/proc/driver/nvidia/version"); }, "driver",
        "MISSING driver: no NVIDIA driver");
  lacks(
      [](FakeMachine& m) {
        m.files["/proc/driver/nvidia/version"] = "NVRM version: NVIDIA Module  575.57.08  R\n";
      },
      "driver", "OLD driver: version 575.57.08, CUDA 13 needs 580");
  lacks([](FakeMachine& m) { m.locked.insert("/dev/nvidia-uvm"); }, "device-files",
        "/dev/nvidia-uvm cannot be read and written");
  lacks(
      [](FakeMachine& m) {
        for (const char* file : {"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm"}) {
          m.globs.erase(file);
        }
      },
      "device-files", "MISSING device-files: no /dev/nvidia*");
  lacks([](FakeMachine& m) { m.devices = UnavailableError("the driver lists none"); }, "devices",
        "MISSING devices: the driver lists none");
  lacks(
      [](FakeMachine& m) {
        m.archs = {"sm_80", "sm_100a"};
      },
      "device-0",
      "this build has code for sm_80, sm_100a only; draftmark verify --backend cuda, and every "
      "benchmark on a GPU; build with --//tools/cuda:archs=sm_90");
  lacks([](FakeMachine& m) { m.cublaslt = UnavailableError("found none of them"); }, "cublaslt",
        "MISSING cublaslt: ");
  lacks([](FakeMachine& m) { m.cublaslt = UnavailableError("found x is version 12.8.4"); },
        "cublaslt", "OLD cublaslt: ");
  const auto no_toolkit = [](FakeMachine& m) {
    m.variables["CUDA_HOME"] = "/opt/cuda";
    m.answers["/repo/third_party/cuda/find_toolkit.sh"] = {.exit_code = 1, .output = {}};
  };
  lacks(no_toolkit, "cuda-toolkit",
        "MISSING cuda-toolkit: none in /opt/cuda, /usr/local/cuda, /repo/.cuda/nvidia/cu13;");
  lacks(
      [&](FakeMachine& m) {
        no_toolkit(m);
        m.programs["/opt/cuda/bin/nvcc"] = "/opt/cuda/bin/nvcc";
      },
      "cuda-toolkit", "OLD cuda-toolkit: /opt/cuda is older than CUDA 12.8");
}

TEST(DoctorTest, DriverOfWsl) {
  WholeMachine machine;
  machine.files.erase("/proc/driver/nvidia/version");
  machine.answers["nvidia-smi"] = {.output = "581.15\n"};
  EXPECT_THAT(LineOf(machine, "driver"), HasSubstr("OK driver: version 581.15;"));
}

TEST(DoctorTest, MemoryForDraftsOfFullSize) {
  WholeMachine machine;
  EXPECT_THAT(LineOf(machine, "memory"), HasSubstr("250.8 GiB available, 32 of 32 drafts fit;"));
  // By hand from the catalogue: 2.7 times two bytes for each parameter of its own, and for each of
  // the embedding and the LM head (163,840 x 7,168 with the largest).
  machine.files["/proc/meminfo"] = "MemTotal: 24684096 kB\nMemAvailable: 6291456 kB\n";
  const std::string line = LineOf(machine, "memory");
  EXPECT_THAT(line, MatchesRegex("MISSING memory: 6\\.0 GiB available, 6 of 32 drafts fit, "
                                 "the largest \\(z-lab/Kimi-K2.5-DFlash\\) needs 29\\.3 GiB; .*"));
  EXPECT_EQ(Examine(machine).code, 0);
  machine.files["/proc/meminfo"] = "MemTotal: 24684096 kB\n";
  EXPECT_THAT(LineOf(machine, "memory"), HasSubstr("does not say"));
  machine.files["/proc/meminfo"] = "MemAvailable: 6291456 kB\n";
  machine.files[*machine.catalogue] = "{";
  EXPECT_THAT(LineOf(machine, "memory"), HasSubstr("MISSING memory: /repo/golden/"));
}

TEST(DoctorTest, PyTorch) {
  WholeMachine machine;
  machine.answers["python3"] = {.output = "warning\ntorch 2.11.0 CUDA False\n"};
  EXPECT_THAT(LineOf(machine, "pytorch"),
              HasSubstr("MISSING pytorch: torch 2.11.0 CUDA False, it sees no GPU;"));
  machine.answers["python3"] = {
      .exit_code = 1, .output = "Traceback\nModuleNotFoundError: No module named 'torch'"};
  EXPECT_THAT(LineOf(machine, "pytorch"), HasSubstr("python3 cannot: ModuleNotFoundError"));
}

TEST(DoctorTest, Json) {
  WholeMachine machine;
  machine.archs = {};
  machine.devices = UnavailableError("this build has no CUDA");
  const Doctor doctor = Examine(machine, {.format = OutputFormat::kJson});
  EXPECT_EQ(doctor.code, 0);
  const Json json = Json::parse(doctor.out);
  EXPECT_EQ(json["can"], (Json{{"cpu", true}, {"gpu", false}}));
  EXPECT_EQ(json["lacking"]["cpu"], Json::array());
  EXPECT_EQ(json["lacking"]["gpu"], Json::array({"devices"}));
  const auto device = std::find_if(json["findings"].begin(), json["findings"].end(),
                                   [](const Json& f) { return f["name"] == "devices"; });
  ASSERT_NE(device, json["findings"].end());
  EXPECT_EQ((*device)["state"], "MISSING");
  EXPECT_EQ((*device)["part"], "gpu");
  EXPECT_EQ((*device)["found"], "this build has no CUDA");
  EXPECT_EQ((*device)["how_to_get"], "tools/setup, then build without --config=nocuda");
}

TEST(DoctorTest, AFieldHasNoSemicolon) {
  const Finding finding{.name = "x", .found = "a; b\nc", .needed_for = "n", .how_to_get = "h"};
  EXPECT_EQ(finding.ToText(), "OK x: a, b c; n; h");
}

TEST(DoctorTest, PackagesAreThoseOfSetup) {
  const StatusOr<std::string> setup = ReadTextFile("tools/setup");
  ASSERT_THAT(setup, IsOk());
  const auto words = [&](const std::string& before, char end) {
    const std::size_t start = setup->find(before) + before.size();
    std::istringstream text(setup->substr(start, setup->find(end, start) - start));
    std::vector<std::string> found;
    for (std::string word; text >> word;) {
      if (word != "bazel-bootstrap" && word != "g++") found.push_back(word);
    }
    return found;
  };
  EXPECT_EQ(BuildPackages(), words("\nPACKAGES=\"", '"'));
  EXPECT_EQ(ToolsOfChecks(), words("\"tools of tools/check\" install_packages", '\n'));
}

TEST(ArchRunsOnTest, AsTheDriverDecides) {
  EXPECT_TRUE(ArchRunsOn("sm_90a", 9, 0));
  EXPECT_FALSE(ArchRunsOn("sm_90a", 10, 0));
  EXPECT_FALSE(ArchRunsOn("sm_100a", 10, 3));
  EXPECT_TRUE(ArchRunsOn("sm_80", 8, 6));
  EXPECT_FALSE(ArchRunsOn("sm_86", 8, 0));
  EXPECT_FALSE(ArchRunsOn("sm_80", 9, 0));
  EXPECT_TRUE(ArchRunsOn("compute_80", 12, 0));
  EXPECT_FALSE(ArchRunsOn("compute_90", 8, 9));
  EXPECT_TRUE(ArchRunsOn("sm_120f", 12, 1));
  EXPECT_FALSE(ArchRunsOn("sm_", 9, 0));
  EXPECT_FALSE(ArchRunsOn("nonsense", 9, 0));
}

TEST(IsAtLeastTest, NumberByNumber) {
  EXPECT_TRUE(IsAtLeast("12.2.0", "12"));
  EXPECT_TRUE(IsAtLeast("12", "12.0"));
  EXPECT_TRUE(IsAtLeast("4.10", "4.2.3"));
  EXPECT_FALSE(IsAtLeast("4.2", "4.2.3"));
  EXPECT_FALSE(IsAtLeast("9.9", "12"));
  EXPECT_TRUE(IsAtLeast("580.82.07", "580"));
  EXPECT_TRUE(IsAtLeast("4.2.3+ds-11", "4.2.3"));
  EXPECT_FALSE(IsAtLeast("unknown", "1"));
}

// On whatever machine this is: it says something about everything, and ends.
TEST(DoctorTest, ThisMachine) {
  const CommandResult result = RunCommand({"doctor", "--format", "json"});
  EXPECT_THAT(result.err, IsEmpty());
  const Json json = Json::parse(result.out);
  EXPECT_EQ(result.code, json["can"]["cpu"] == true ? 0 : 1);
  EXPECT_GE(json["findings"].size(), 13u);
  EXPECT_EQ(RunCommand({"doctor", "--no-such"}).code, 2);
  EXPECT_EQ(RunCommand({"doctor", "extra"}).code, 2);
}

}  // namespace
}  // namespace draftmark
