#include "agent/life/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <random>

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;

std::string Mount() {
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (fs::exists(std::string(path) + "/cgroup.procs")) return path;
  }
  return "";
}

std::string OurCgroup() { return base::ReadFile("/proc/self/cgroup", 1 << 20).value_or(""); }

// A cgroup delegated to this user as by systemd, in which a child process works.
class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    if (mkdir(given_.c_str(), 0700) != 0) GTEST_SKIP() << "no cgroup v2 that may be written";
    ASSERT_TRUE(folder_.Make().ok());
  }
  void TearDown() override {
    folder_.Remove();
    rmdir(path_.c_str());
    rmdir(given_.c_str());
  }
  void Mark() const { ASSERT_EQ(setxattr(given_.c_str(), "user.delegate", "1", 1, 0), 0); }
  int InGiven(const std::function<int()>& work) const {
    const pid_t child = fork();
    if (child == 0) {
      const base::UniqueFd procs(open((given_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      _exit(write(procs.get(), "0", 1) == 1 ? work() : 99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // A pid would not be unique, as another test run may have a separate pid namespace.
  const std::string number_ = std::to_string(std::random_device{}());
  const JobFolder folder_{"cgroup-test-" + number_, "2"};
  const std::string given_ = Mount() + "/autodist-test-" + number_;
  const std::string path_ = given_ + "/autodist-cgroup-test-" + number_ + ".2";
};

TEST_F(CgroupTest, ProcessesInItAreEndedAndItIsRemoved) {
  Mark();
  EXPECT_EQ(InGiven([&] {
              const auto cgroup = Cgroup::Make(folder_);
              if (!cgroup) return 1;
              int fds[2];
              if (pipe(fds) != 0) return 2;
              const pid_t daemon = fork();
              if (daemon == 0) {  // cannot be found by parent, session or environment
                if (fork() != 0) _exit(0);
                cgroup->Enter();
                setsid();
                clearenv();
                (void)!write(fds[1], "+", 1);
                for (;;) pause();
              }
              close(fds[1]);
              waitpid(daemon, nullptr, 0);
              char byte = 0;
              if (read(fds[0], &byte, 1) != 1 || !fs::exists(path_)) return 3;
              const auto found = Cgroup::Find(folder_);
              if (!found) return 4;
              found->Kill();
              if (read(fds[0], &byte, 1) != 0) return 5;  // it has ended
              found->Remove();
              if (fs::exists(path_)) return 6;
              return Cgroup::Find(folder_) ? 7 : 0;
            }),
            0);
}

TEST_F(CgroupTest, ALeftoverCgroupCanBeRemoved) {
  Mark();
  EXPECT_EQ(InGiven([&] {
              const auto cgroup = Cgroup::Make(folder_);
              if (!cgroup) return 1;
              cgroup->Enter();
              if (OurCgroup().find(folder_.name()) == std::string::npos) return 2;
              cgroup->Leave();
              if (OurCgroup().find(folder_.name()) != std::string::npos) return 3;
              cgroup->Remove();
              return fs::exists(path_) ? 4 : 0;
            }),
            0);
}

TEST_F(CgroupTest, ACgroupNotDelegatedToRootIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "what this user owns is given to it";
  EXPECT_EQ(InGiven([&] { return Cgroup::Make(folder_) ? 1 : 0; }), 0);
}

TEST_F(CgroupTest, APathOfNoJobIsIgnored) {
  for (const std::string& path : {std::string(), given_, "/tmp/autodist-" + folder_.name(),
                                  given_ + "/autodist-" + folder_.name() + "/.."}) {
    const base::UniqueFd file(open(folder_.cgroup().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    ASSERT_EQ(write(file.get(), path.data(), path.size()), static_cast<ssize_t>(path.size()));
    EXPECT_FALSE(Cgroup::Find(folder_)) << path;
  }
}

}  // namespace
}  // namespace autodist::agent
