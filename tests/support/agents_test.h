// Fixtures of tests with real agents: no test may hang, and no process or folder may be left.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "reach/connector.h"
#include "support/temp_folder.h"
#include "transport/transport.h"

namespace autodist::test {

// Aborts the program if it is not destroyed in time.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::milliseconds limit)
      : thread_([limit](const std::stop_token& stop) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any never;
          never.wait_until(lock, stop, base::Deadline::After(limit).when(), [] { return false; });
          if (stop.stop_requested()) return;
          std::fprintf(stderr, "the test hangs\n");
          abort();
        }) {}

 private:
  std::jthread thread_;
};

// Connects to all nodes with transports of the test.
class TestConnector final : public reach::Connector {
 public:
  using Make = std::function<std::unique_ptr<transport::Transport>(const v1::Reach& reach)>;

  explicit TestConnector(Make make) : make_(std::move(make)) {}

  Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach& reach,
                                                            ssh::SshLoop&) override {
    return make_(reach);
  }

 private:
  const Make make_;
};

// Sets HOME to a folder of the test; processes that agents leave become children of this process.
class AgentsTest : public testing::Test {
 protected:
  AgentsTest() {
    const char* home = getenv("HOME");
    home_before_ = home ? home : "";
    setenv("HOME", folder_.path().c_str(), 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
  }
  ~AgentsTest() override {
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    setenv("HOME", home_before_.c_str(), 1);
  }

  // Returns an id that no other test uses at any time.
  std::string NewJobId() {
    // Agents of concurrent tests with separate pid namespaces listen on the same network.
    struct stat processes {};
    stat("/proc/self/ns/pid", &processes);
    return "faults-" + std::to_string(processes.st_ino) + "-" + std::to_string(getpid()) + "-" +
           std::to_string(++jobs_);
  }

  // Blocks until no process is left. Their files must be gone then, too.
  static void ExpectNothingLeft(const std::string& job_id) {
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
    std::error_code error;
    for (std::filesystem::directory_iterator
             entry("/tmp/autodist-" + std::to_string(geteuid()), error),
         end;
         !error && entry != end; entry.increment(error)) {
      EXPECT_FALSE(entry->path().filename().string().starts_with(job_id + ".")) << *entry;
    }
  }

  const TempFolder folder_;

 private:
  std::string home_before_;
  int jobs_ = 0;
};

}  // namespace autodist::test
