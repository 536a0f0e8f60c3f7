// Uses a fake nvidia-smi with the output of a node with H200s.
#include "agent/sample/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "support/limit.h"
#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr char kFakeHelp[] = R"(  --help-query-gpu)
    echo '"index"'; echo '"uuid" or "gpu_uuid"'; echo '"pci.bus_id" or "gpu_bus_id"'
    echo '"utilization.gpu"'; echo '"power.draw"' ;;
)";
constexpr char kFakeRows[] = R"(  *--query-gpu=index,uuid,pci.bus_id,utilization.gpu,power.draw*)
    echo '0, GPU-aaaa, 00000000:18:00.0, 97, 632.41'
    echo '1, GPU-bbbb, 00000000:2A:00.0, 12, [N/A]'
    echo '2, GPU-cccc, 00000000:3A:00.0, 12, 80.00'
)";

class GpuReaderTest : public testing::Test {
 protected:
  GpuReaderTest() { plan_.environment.Set("PATH", folder_.path() + ":/usr/bin:/bin"); }

  // Installs the fake, which records its arguments and pid.
  void Install(const std::string& cases) {
    const std::string path =
        folder_.Write("nvidia-smi", "#!/bin/sh\necho \"$$ $*\" >> " + folder_.path() +
                                        "/calls\ncase \"$*\" in\n" + cases + "esac\n");
    chmod(path.c_str(), 0755);
  }
  std::string Calls() const { return folder_.Read("calls"); }
  static size_t Count(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++count;
    return count;
  }

  // Reads as often as the sampler until the condition holds.
  static bool Await(const std::function<bool()>& condition) {
    const auto limit = base::Deadline::After(test::kLimit);
    while (!condition()) {
      if (limit.Expired()) return false;
      (void)poll(nullptr, 0, 5);
    }
    return true;
  }
  static v1::NodeSample Read(GpuReader& reader) {
    v1::NodeSample sample;
    reader.Read([](pid_t) { return false; }, sample);
    return sample;
  }

  const test::TempFolder folder_;
  GpuPlan plan_{{0, 1}, {}, "/", milliseconds(250)};
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(GpuReaderTest, ReportsTheGpusOfTheJob) {
  Install(kFakeHelp + std::string(kFakeRows) + "    exec sleep 1000 ;;\n");
  GpuReader reader(plan_, *supervisor_);
  v1::NodeSample sample;
  ASSERT_TRUE(Await([&] {
    sample = Read(reader);
    return sample.gpus_size() > 0;
  }));
  ASSERT_EQ(sample.gpus_size(), 2);
  EXPECT_EQ(sample.gpus(0).uuid(), "GPU-aaaa");
  EXPECT_DOUBLE_EQ(sample.gpus(0).use(), 0.97);
  EXPECT_DOUBLE_EQ(sample.gpus(0).power(), 632.41);
  EXPECT_EQ(sample.gpus(1).index(), 1u);
  EXPECT_FALSE(sample.gpus(1).has_power());
  EXPECT_THAT(Calls(), HasSubstr(" -i 0,1 --query-gpu=index,uuid,pci.bus_id,utilization.gpu,"
                                 "power.draw --format=csv,noheader,nounits -lms 250\n"));
  EXPECT_EQ(Count(Calls(), "\n"), 2u);
}

TEST_F(GpuReaderTest, TheToolEndsWithItsReader) {
  Install(kFakeHelp + std::string(kFakeRows) + "    exec sleep 1000 ;;\n");
  pid_t pid = 0;
  {
    GpuReader reader(plan_, *supervisor_);
    ASSERT_TRUE(Await([&] { return Read(reader).gpus_size() > 0; }));
    const std::string calls = Calls();
    pid = std::stoi(calls.substr(calls.find('\n') + 1));
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_TRUE(Await([&] { return kill(pid, 0) != 0; }));
}

TEST_F(GpuReaderTest, TheToolIsRestartedWhenItHasEnded) {
  Install(kFakeHelp + std::string(kFakeRows) + "    exit 3 ;;\n");
  GpuReader reader(plan_, *supervisor_);
  EXPECT_TRUE(Await([&] {
    Read(reader);
    return Count(Calls(), "--query-gpu=") == 3;
  }));
  EXPECT_EQ(Read(reader).gpus_size(), 2);  // the values are fresh
}

TEST_F(GpuReaderTest, AFailingToolIsRetriedLessAndLessOften) {
  Install("  *) echo 'NVIDIA-SMI has failed'; exit 9 ;;\n");
  GpuReader reader(plan_, *supervisor_);
  const auto began = SampleTime::clock::now();
  EXPECT_TRUE(Await([&] {
    EXPECT_EQ(Read(reader).gpus_size(), 0);
    return Count(Calls(), "--help-query-gpu") == 4;
  }));
  // 200, 400 and 800 ms, each up to 50 % more or less.
  EXPECT_GE(SampleTime::clock::now() - began, milliseconds(700));
  EXPECT_LT(reader.next_look(), base::Deadline::After(GpuReader::kMaxWait));
}

TEST_F(GpuReaderTest, AGpuIsLostUntilItHasARowAgain) {
  Install(std::string("  --help-query-gpu)\n  echo '\"index\" \"pci.bus_id\"' ;;\n  *)\n") +
          "  if [ -e " + folder_.path() + "/lost ]; then\n" +
          "    echo 'Unable to determine the device handle for GPU0000:2A:00.0: GPU is lost.'; "
          "exit 15\n"
          "  fi\n  echo '0, 00000000:18:00.0'; echo '1, 00000000:2A:00.0' ;;\n");
  GpuReader reader(plan_, *supervisor_);
  // nullopt: no reading of GPU 1
  const auto faults = [&]() -> std::optional<std::vector<std::string>> {
    const v1::NodeSample sample = Read(reader);
    for (const v1::GpuSample& gpu : sample.gpus()) {
      if (gpu.index() == 1) return std::vector(gpu.faults().begin(), gpu.faults().end());
    }
    return std::nullopt;
  };
  const std::vector<std::string> none;
  const std::vector<std::string> lost = {"is lost"};
  ASSERT_TRUE(Await([&] { return faults() == none; }));
  folder_.Write("lost", "");
  ASSERT_TRUE(Await([&] { return faults() == lost; }));
  std::filesystem::remove(folder_.path() + "/lost");
  EXPECT_TRUE(Await([&] { return faults() == none; }));
}

TEST_F(GpuReaderTest, NothingIsRunWithoutGpusInTheJob) {
  Install(kFakeHelp);
  plan_.indices.clear();
  GpuReader reader(plan_, *supervisor_);
  EXPECT_EQ(Read(reader).gpus_size(), 0);
  EXPECT_FALSE(reader.next_look() < base::Deadline::Never());
}

}  // namespace
}  // namespace autodist::agent
