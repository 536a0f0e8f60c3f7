#include "agent/prepare/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <thread>

#include "agent/prepare/file_facts.h"
#include "base/ip_address.h"
#include "support/quiet_supervisor.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

constexpr char kDigestOfNothing[] =
    "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8";

std::string OwnName() {
  char name[256] = "";
  gethostname(name, sizeof name);
  return name;
}

class ProbeTest : public testing::Test {
 protected:
  ProbeTest() {
    node_.working_directory = folder_.path();
    node_.command = {"sh", "-c", "true"};
    node_.rank_environment.emplace();
    node_.rank_environment->Set("PATH", folder_.path() + ":/usr/bin:/bin");
  }

  void Install(const std::string& name, const std::string& script) {
    const std::string path = folder_.Write(name, "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0755);
  }
  v1::NodeInfo Facts() { return Probe(probe_, node_, *supervisor_); }
  v1::FileFact FactOf(const std::string& file) {
    probe_.clear_files();
    probe_.add_files(file);
    return Facts().files(0);
  }

  const test::TempFolder folder_;
  v1::ProbeRequest probe_;
  ProbedNode node_;
  const std::unique_ptr<Supervisor> supervisor_ = test::QuietSupervisor();
};

TEST_F(ProbeTest, ReportsWhatIsCheap) {
  for (const char* name : {"getent", "nvidia-smi", "python3"}) {
    Install(name, "echo > '" + folder_.path() + "'/asked.$(basename $0)");
  }
  node_.command[0] = "python3";
  node_.rank_environment->Set("NCCL_DEBUG", "INFO");
  node_.rank_environment->Set("GLOO_SOCKET_IFNAME", "lo");
  node_.rank_environment->Set("NCCLX", "");
  const int64_t before = std::chrono::system_clock::now().time_since_epoch().count();
  const v1::NodeInfo facts = Facts();
  EXPECT_EQ(facts.hostname(), OwnName());
  bool has_loopback = false;
  for (const v1::InterfaceFact& interface : facts.interfaces()) {
    has_loopback |= interface.name() == "lo" && interface.address() == "127.0.0.1";
  }
  EXPECT_TRUE(has_loopback);
  EXPECT_GE(facts.time_ns(), before);
  EXPECT_LE(facts.time_ns(), std::chrono::system_clock::now().time_since_epoch().count());
  EXPECT_GT(facts.working_directory().size(), 0u);
  EXPECT_GT(facts.working_directory().free(), 0u);
  EXPECT_EQ(facts.working_directory().error(), "");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(facts.open_files_limit(), limit.rlim_cur);
  EXPECT_GT(facts.memlock_limit(), 0u);
  EXPECT_EQ(facts.program(), folder_.path() + "/python3");
  EXPECT_THAT(facts.variables(), ElementsAre("GLOO_SOCKET_IFNAME", "NCCL_DEBUG"));
  EXPECT_FALSE(facts.has_python());
  for (const char* name : {"getent", "nvidia-smi", "python3"}) {
    EXPECT_NE(access((folder_.path() + "/asked." + name).c_str(), F_OK), 0) << name;
  }
  probe_.set_thorough(true);
  EXPECT_EQ(Facts().python().error(), "python3 does not behave as a Python");
  for (const char* name : {"getent", "nvidia-smi", "python3"}) {
    EXPECT_EQ(access((folder_.path() + "/asked." + name).c_str(), F_OK), 0) << name;
  }
}

TEST_F(ProbeTest, AThoroughProbeRunsAllProgramsAtTheSameTime) {
  // Each ends only after all have begun: three times nvidia-smi, and the others once.
  const std::string wait = "echo > '" + folder_.path() + "'/began.$$\nuntil [ $(ls '" +
                           folder_.path() + "'/began.* | wc -l) = 5 ]; do sleep 0.01; done\n";
  Install("getent", wait +
                        "echo '10.0.0.1        STREAM node'\necho '10.0.0.1        DGRAM  '\n"
                        "echo 'fe80::1%eth0    STREAM '\necho garbage");
  Install("nvidia-smi", wait + "case $1 in --query-gpu*) echo '0, A GPU, GPU-a, 1' ;; esac");
  Install("python3", wait + "exec /usr/bin/python3 \"$@\"");
  node_.command = {"python3", "train.py"};
  probe_.set_thorough(true);
  probe_.add_python_modules("os");
  const v1::NodeInfo facts = Facts();
  EXPECT_THAT(facts.hostname_addresses(), ElementsAre("10.0.0.1", "fe80::1%eth0"));
  EXPECT_EQ(facts.gpus_size(), 1);
  EXPECT_EQ(facts.python().error(), "");
  EXPECT_TRUE(facts.python().modules(0).found());
}

TEST_F(ProbeTest, TheNodeResolvesItsOwnName) {
  std::set<std::string> expected;
  addrinfo* list = nullptr;
  if (getaddrinfo(OwnName().c_str(), nullptr, nullptr, &list) == 0) {
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
    for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
      char text[NI_MAXHOST];
      ASSERT_EQ(getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0,
                            NI_NUMERICHOST),
                0);
      expected.insert(text);
    }
  }
  probe_.set_thorough(true);
  EXPECT_THAT(Facts().hostname_addresses(), UnorderedElementsAreArray(expected));
}

TEST_F(ProbeTest, WithoutTheRanksEnvironmentTheRestIsReported) {
  Install("python3", "");
  node_.command[0] = "python3";
  node_.rank_environment.reset();
  node_.working_directory = folder_.path() + "/none";
  probe_.set_thorough(true);
  probe_.add_files("train.py");
  const v1::NodeInfo facts = Facts();
  EXPECT_EQ(facts.hostname(), OwnName());
  EXPECT_EQ(facts.program(), "");
  EXPECT_FALSE(facts.has_python());
  EXPECT_THAT(facts.working_directory().error(), HasSubstr("No such file or directory"));
  EXPECT_THAT(facts.files(0).error(), HasSubstr("No such file or directory"));
  EXPECT_GT(facts.time_ns(), 0);
}

TEST_F(ProbeTest, FilesHaveDigests) {
  const std::string empty = folder_.Write("empty", "");
  folder_.Write("train.py", "x");
  folder_.Write("same.py", "x");
  EXPECT_EQ(FactOf("empty").digest(), kDigestOfNothing);
  EXPECT_EQ(FactOf(empty).digest(), kDigestOfNothing);
  EXPECT_EQ(FactOf("train.py").digest(), FactOf("same.py").digest());
  EXPECT_NE(FactOf("train.py").digest(), kDigestOfNothing);
  EXPECT_EQ(FactOf("train.py").error(), "");
  EXPECT_THAT(FactOf("none").error(), EndsWith("none: No such file or directory"));
  EXPECT_THAT(FactOf(".").error(), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo((folder_.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_THAT(FactOf("fifo").error(), HasSubstr("not a regular file"));
  EXPECT_THAT(DigestFact(empty, base::Deadline::After(std::chrono::milliseconds(0))).error(),
              HasSubstr("takes too long"));
}

TEST_F(ProbeTest, OnlyTokensInOurFilesAreReported) {
  EXPECT_EQ(SharedFileFact(folder_.Write(".autodist-1", "cafe01\n")).digest(), "cafe01");
  EXPECT_THAT(SharedFileFact(folder_.path() + "/.autodist-2").error(),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(SharedFileFact(folder_.Write("id_rsa", "cafe01")).error(),
              HasSubstr("not a file of autodist's"));
  folder_.Write("secret", "password: 1\n");
  std::filesystem::create_symlink(folder_.path() + "/secret", folder_.path() + "/.autodist-3");
  const v1::FileFact other = SharedFileFact(folder_.path() + "/.autodist-3");
  EXPECT_EQ(other.digest(), "");
  EXPECT_THAT(other.error(), HasSubstr("something else than a word"));
  const std::string largest(256, 'a');
  EXPECT_EQ(SharedFileFact(folder_.Write(".autodist-4", largest)).digest(), largest);
  EXPECT_EQ(SharedFileFact(folder_.Write(".autodist-4", largest + "a")).digest(), "");
  EXPECT_EQ(SharedFileFact(folder_.Write(".autodist-4", largest + "\na")).digest(), "");
}

TEST_F(ProbeTest, AReadOnlyFolderIsAnIssueAndStillHasASize) {
  v1::DiskFact fact;
  std::thread([&fact] {
    syscall(SYS_setresuid, 65534, 65534, 65534);  // only this thread: root may write anywhere
    fact = DiskFactOf("/usr");
  }).join();
  EXPECT_EQ(fact.error(), "not writable: Permission denied");
  EXPECT_GT(fact.size(), 0u);
}

TEST_F(ProbeTest, NcclIsTheOneThatTheLoaderFinds) {
  std::filesystem::create_directories(folder_.path() + "/a");
  std::filesystem::create_directories(folder_.path() + "/b");
  std::filesystem::create_directories(folder_.path() + "/c");
  folder_.Write("a/libnccl.so.2.18.3", "");
  std::filesystem::create_symlink("libnccl.so.2.18.3", folder_.path() + "/a/libnccl.so.2");
  folder_.Write("b/libnccl.so.2.19.4", "");
  std::filesystem::create_symlink("libnccl.so.2.19.4", folder_.path() + "/b/libnccl.so.2");
  folder_.Write("c/libnccl.so.2", "");
  const std::string& at = folder_.path();
  EXPECT_EQ(NcclVersion(at + "/none:" + at + "/a:" + at + "/b", "/"), "2.18.3");
  EXPECT_EQ(NcclVersion("b:a", at), "2.19.4");
  EXPECT_EQ(NcclVersion(at + "/c:" + at + "/a", "/"), "");
  EXPECT_EQ(NcclVersion("", at + "/a"), NcclVersion("", "/"));
  node_.rank_environment->Set("LD_LIBRARY_PATH", at + "/b");
  EXPECT_EQ(Facts().nccl_version(), "2.19.4");
}

}  // namespace
}  // namespace autodist::agent
