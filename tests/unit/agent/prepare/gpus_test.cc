#include "agent/prepare/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "support/pci_device.h"
#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using testing::HasSubstr;

// Output of nvidia-smi 535 on a node with two GPUs.
constexpr char kTwoGpus[] = R"(case "$*" in
  *--query-gpu=*)
    echo '0, NVIDIA A100-SXM4-80GB, GPU-aaaa, 4'
    echo '3, NVIDIA A100-SXM4-80GB, GPU-bbbb, 70213' ;;
  *--query-compute-apps=*)
    echo 'GPU-bbbb, 4711, 70000, /usr/bin/python3'
    echo 'GPU-bbbb, 4712, [N/A], [Not Found]'
    echo 'GPU-cccc, 4713, 1, of no GPU of ours'
    echo 'GPU-aaaa, 4714, 1, a, b' ;;
  '') echo 'Sat Aug 19 01:15:15 2023'
    echo '| NVIDIA-SMI 535.104.05    Driver Version: 535.104.05   CUDA Version: 12.2     |' ;;
esac
)";

class GpusTest : public testing::Test {
 protected:
  GpusTest() { environment_.Set("PATH", folder_.path() + ":/usr/bin:/bin"); }

  // Installs a fake tool with a given output and exit code.
  void Install(const std::string& script) {
    const std::string path = folder_.Write("nvidia-smi", "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0755);
  }
  std::string DriverFolder(const std::string& version) {
    const std::string path = folder_.path() + "/driver";
    mkdir(path.c_str(), 0755);
    folder_.Write("driver/version", version);
    return path;
  }
  v1::NodeInfo Facts() {
    return GpuFacts(environment_, "/", *supervisor_, GpuNames::kNumbers, folder_.path() + "/root");
  }

  const test::TempFolder folder_;
  process::Environment environment_;
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(GpusTest, ReportsGpusAndTheirProcesses) {
  Install(kTwoGpus);
  const v1::NodeInfo facts = Facts();
  EXPECT_EQ(facts.gpu_error(), "");
  ASSERT_EQ(facts.gpus_size(), 2);
  EXPECT_EQ(facts.gpus(0).index(), 0u);
  EXPECT_EQ(facts.gpus(1).index(), 3u);
  EXPECT_EQ(facts.gpus(1).name(), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(facts.gpus(1).memory_used(), uint64_t{70213} << 20);
  ASSERT_EQ(facts.gpus(1).processes_size(), 2);
  EXPECT_EQ(facts.gpus(1).processes(0).pid(), 4711);
  EXPECT_EQ(facts.gpus(1).processes(0).name(), "/usr/bin/python3");
  EXPECT_EQ(facts.gpus(1).processes(0).memory_used(), uint64_t{70000} << 20);
  EXPECT_EQ(facts.gpus(1).processes(1).memory_used(), 0u);
  ASSERT_EQ(facts.gpus(0).processes_size(), 1);
  EXPECT_EQ(facts.gpus(0).processes(0).name(), "a, b");
  EXPECT_EQ(facts.driver_version(), "535.104.05");
  EXPECT_EQ(facts.cuda_version(), "12.2");
}

// Runs `id`, because a static program cannot look the name up.
std::string UserName() {
  FILE* id = popen("id -un", "r");
  char name[256] = {};
  EXPECT_EQ(std::fscanf(id, "%255s", name), 1);
  pclose(id);
  return name;
}

// A process of this user with that environment variable.
class SleepingProcess {
 public:
  explicit SleepingProcess(const std::string& variable) {
    std::string text = variable;
    const char* argv[] = {"sleep", "1000", nullptr};
    char* environment[] = {text.data(), nullptr};
    EXPECT_EQ(
        posix_spawn(&pid_, "/bin/sleep", nullptr, nullptr, const_cast<char**>(argv), environment),
        0);
  }
  ~SleepingProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = 0;
};

TEST_F(GpusTest, ReportsTheUsersOfProcesses) {
  const SleepingProcess of_a_job("AUTODIST_JOB_ID=job-7");
  const SleepingProcess of_none("A=AUTODIST_JOB_ID=job-8");
  Install("case \"$*\" in *--query-gpu=*) echo '0, A100, GPU-a, 4' ;;\n*-apps=*) echo 'GPU-a, " +
          of_a_job.pid() + ", 1, train'; echo 'GPU-a, " + of_none.pid() +
          ", 1, train'; echo 'GPU-a, 2147483647, 1, elsewhere' ;; esac");
  const v1::NodeInfo facts = GpuUsers(environment_, "/", *supervisor_);
  ASSERT_EQ(facts.gpus_size(), 1);
  ASSERT_EQ(facts.gpus(0).processes_size(), 3);
  const std::string user = UserName();
  EXPECT_EQ(facts.gpus(0).processes(0).user(), user);
  EXPECT_EQ(facts.gpus(0).processes(0).job_id(), "job-7");
  EXPECT_EQ(facts.gpus(0).processes(1).user(), user);
  EXPECT_EQ(facts.gpus(0).processes(1).job_id(), "");
  EXPECT_EQ(facts.gpus(0).processes(2).user(), "");
  EXPECT_EQ(facts.driver_version(), "");  // it is not queried
}

TEST_F(GpusTest, RecognizesTheLabelsOfNewerDrivers) {
  Install("echo '| NVIDIA-SMI 610.43.02    KMD Version: 610.43.02     CUDA UMD Version: 13.3   |'");
  EXPECT_EQ(Facts().driver_version(), "610.43.02");
  EXPECT_EQ(Facts().cuda_version(), "13.3");
}

TEST_F(GpusTest, RunsAllQueriesAtTheSameTime) {
  // Each of the three ends only after all have begun.
  Install("echo > '" + folder_.path() + "'/began.$$\n" + "until [ $(ls '" + folder_.path() +
          "'/began.* | wc -l) = 3 ]; do sleep 0.01; done\n" + kTwoGpus);
  const v1::NodeInfo facts = Facts();
  EXPECT_EQ(facts.gpus_size(), 2);
  EXPECT_EQ(facts.cuda_version(), "12.2");
}

TEST_F(GpusTest, ANodeWithoutDriverHasNoGpus) {
  environment_.Set("PATH", folder_.path());
  const v1::NodeInfo facts = Facts();
  EXPECT_EQ(facts.gpu_error(), "");
  EXPECT_EQ(facts.gpus_size(), 0);
  std::filesystem::create_directories(folder_.path() + "/root" + kDriverFolder);
  const v1::NodeInfo broken = Facts();
  EXPECT_THAT(broken.gpu_error(), HasSubstr("'nvidia-smi' is not in PATH"));
  EXPECT_EQ(broken.gpu_failure(), v1::GPU_FAILURE_UNSPECIFIED);
}

TEST_F(GpusTest, AFailingToolIsQuoted) {
  Install("echo 'NVIDIA-SMI has failed because it could not reach the driver.'; exit 9");
  const v1::NodeInfo facts = Facts();
  EXPECT_EQ(facts.gpu_error(),
            "nvidia-smi ended with status 9: NVIDIA-SMI has failed because it could not reach the "
            "driver.");
  EXPECT_EQ(facts.gpu_failure(), v1::GPU_FAILURE_FAILS);
  Install("echo No devices were found");
  EXPECT_EQ(Facts().gpu_error(), "nvidia-smi says: No devices were found");
  EXPECT_EQ(Facts().gpu_failure(), v1::GPU_FAILURE_NO_GPU);
  Install("echo No devices were found; exit 6");
  EXPECT_EQ(Facts().gpu_failure(), v1::GPU_FAILURE_NO_GPU);
  Install("exec sleep 1000");
  const v1::NodeInfo late = Facts();
  EXPECT_EQ(late.gpu_error(), "nvidia-smi did not end within 3 s");
  EXPECT_EQ(late.gpu_failure(), v1::GPU_FAILURE_HANGS);
}

// It describes all of them, and ends with 14.
TEST_F(GpusTest, ACorruptedInfoRomIsOnlyAWarning) {
  const std::string warning = "WARNING: infoROM is corrupted at gpu 0000:41:00.0";
  Install(std::string("[ \"$*\" != '-q -x' ] || echo '<a></a>'\n") + kTwoGpus + "echo '" + warning +
          "'; exit 14");
  const v1::NodeInfo facts = Facts();
  EXPECT_EQ(facts.gpus_size(), 2);
  EXPECT_EQ(facts.gpu_error(), "");
  EXPECT_EQ(facts.gpu_warning(), warning);
  EXPECT_EQ(facts.cuda_version(), "12.2");
  EXPECT_EQ(DescribeGpus(environment_, "/", *supervisor_).value_or(""), "<a></a>");
  Install("echo '0, 00000000:41:00.0, A100'; echo '" + warning + "'; exit 14");
  const auto bus_ids = GpuBusIds(environment_, "/", *supervisor_);
  ASSERT_TRUE(bus_ids.ok()) << bus_ids.status();
  EXPECT_EQ(bus_ids->size(), 1u);
}

TEST_F(GpusTest, ReportsTheDriverVersion) {
  EXPECT_EQ(DriverVersion("/no/such/driver"), "");
  EXPECT_EQ(DriverVersion(DriverFolder("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05 "
                                       " Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc 12.2.0")),
            "535.104.05");
  EXPECT_EQ(DriverVersion(DriverFolder(
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release\n")),
            "550.54.14");
  EXPECT_EQ(DriverVersion(DriverFolder("something else\n")), "");
}

TEST_F(GpusTest, TheJobsLibrariesAreTestedSeparately) {
  environment_.Set("LD_LIBRARY_PATH", "/cuda/lib64/stubs");
  Install("[ -z \"$LD_LIBRARY_PATH\" ] || exit 9\n" + std::string(kTwoGpus));
  EXPECT_EQ(Facts().gpus_size(), 2);
  Install("[ -n \"$LD_LIBRARY_PATH\" ] || exit 9\n" + std::string(kTwoGpus));
  EXPECT_EQ(Facts().gpus_size(), 2);
}

TEST_F(GpusTest, PartsOfGpusHaveNames) {
  Install(
      "case \"$*\" in -L) echo 'GPU 0: A100 (UUID: GPU-aaaa)'; "
      "echo '  MIG 1g.10gb     Device  0: (UUID: MIG-1)'; "
      "echo '  MIG 1g.10gb     Device  1: (UUID: MIG-2)'; echo 'GPU 3: A100 (UUID: GPU-bbbb)';;"
      "esac\n" +
      std::string(kTwoGpus));
  const v1::NodeInfo facts = GpuUsers(environment_, "/", *supervisor_, GpuNames::kWithMig);
  ASSERT_EQ(facts.gpus_size(), 2);
  EXPECT_EQ(facts.gpus(0).uuid(), "GPU-aaaa");
  EXPECT_THAT(facts.gpus(0).mig_uuids(), testing::ElementsAre("MIG-1", "MIG-2"));
  EXPECT_THAT(facts.gpus(1).mig_uuids(), testing::IsEmpty());
}

TEST_F(GpusTest, DetectsWhetherThereMayBeAnAccelerator) {
  const std::string root = folder_.path() + "/root/";
  for (const char* place : {"", "dev", "proc", "proc/driver"}) {
    mkdir((root + place).c_str(), 0755);
  }
  environment_.Set("PATH", root + "usr/bin");
  EXPECT_FALSE(MayHaveAccelerator(environment_, "/", root));
  for (const char* file :
       {"dev/nvidia0", "dev/kfd", "dev/davinci7", "dev/cambricon_dev0", "proc/driver/nvidia"}) {
    const std::string path = folder_.Write(std::string("root/") + file, "");
    EXPECT_TRUE(MayHaveAccelerator(environment_, "/", root)) << file;
    unlink(path.c_str());
  }
  folder_.Write("root/dev/nvidia-not", "");
  EXPECT_FALSE(MayHaveAccelerator(environment_, "/", root));
  test::AddPciDevice(root, "0000:41:00.0", "0x10de", "0x030200");
  EXPECT_TRUE(MayHaveAccelerator(environment_, "/", root));
  std::filesystem::remove_all(root + "sys");
  environment_.Set("PATH", folder_.path());
  Install("true");
  EXPECT_TRUE(MayHaveAccelerator(environment_, "/", root));
}

// The script that counts devices runs with the PATH of the login shell; ranks have another one.
TEST_F(GpusTest, TheToolIsFoundWhereTheLoginShellFindsIt) {
  const std::string own = getenv("PATH");
  environment_.Set("PATH", "/nowhere");
  for (const char* place : {"/usr/lib/wsl/lib", "/of/bashrc"}) {
    const std::string root = folder_.path() + "/root";
    EXPECT_FALSE(FindNvidiaSmi(environment_, "/", root).ok());
    std::filesystem::create_directories(root + place);
    const std::string tool =
        folder_.Write("root" + std::string(place) + "/nvidia-smi", "#!/bin/sh");
    chmod(tool.c_str(), 0755);
    setenv("PATH", (own + ":/of/bashrc").c_str(), 1);
    const auto found = FindNvidiaSmi(environment_, "/", root);
    setenv("PATH", own.c_str(), 1);
    EXPECT_EQ(found.value_or(""), tool);
    std::filesystem::remove_all(root);
  }
}

}  // namespace
}  // namespace autodist::agent
