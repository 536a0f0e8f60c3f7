// A real ssh-agent for one test, ended with it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "support/shell.h"

namespace autodist::test {

class RealAgent {
 public:
  explicit RealAgent(const std::string& folder) : socket_(folder + "/agent.sock") {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fds[1], STDOUT_FILENO);
      close(fds[0]);
      close(fds[1]);
      execlp("ssh-agent", "ssh-agent", "-D", "-a", socket_.c_str(), nullptr);
      _exit(127);
    }
    close(fds[1]);
    // ssh-agent prints its socket's path once it listens.
    char byte = 0;
    while (read(fds[0], &byte, 1) == 1 && byte != '\n') {
    }
    EXPECT_EQ(byte, '\n') << "ssh-agent did not start";
    output_ = fds[0];
  }
  RealAgent(const RealAgent&) = delete;
  RealAgent& operator=(const RealAgent&) = delete;
  ~RealAgent() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    close(output_);
  }

  const std::string& socket() const { return socket_; }
  // Runs ssh-add with these arguments.
  void Add(const std::string& arguments) const {
    Shell("SSH_AUTH_SOCK=" + socket_ + " ssh-add -q " + arguments + " 2>&1");
  }

 private:
  const std::string socket_;
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace autodist::test
