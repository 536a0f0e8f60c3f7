// A real sshd for one test, at a port of the loopback interface, and the connections to it, which
// can be cut.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "support/shell.h"
#include "support/temp_folder.h"

namespace autodist::test {

// Each connection has a separate sshd, as started by inetd.
class LoopbackSshd {
 public:
  // `options` are lines of sshd_config.
  explicit LoopbackSshd(const std::string& options = "") {
    signal(SIGPIPE, SIG_IGN);  // of a connection with a closed end
    mkdir("/run/sshd", 0755);  // sshd requires it as root
    Shell("ssh-keygen -q -t ed25519 -N '' -f " + folder_.path() + "/host_key");
    folder_.Write("authorized_keys", "");
    folder_.Write("sshd_config", options + "\nHostKey " + folder_.path() +
                                     "/host_key\nAuthorizedKeysFile " + folder_.path() +
                                     "/authorized_keys\nStrictModes no\nUsePAM no\n"
                                     "PermitRootLogin yes\nPidFile none\nSetEnv HOME=" +
                                     folder_.path() +
                                     "\n");  // a folder without shell start-up files
    listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // As on a network: the loopback interface would accept all data without delay.
    const int segment = 1400;
    const int buffer = 32 * 1024;
    setsockopt(listener_.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_.get(), any, length), 0);
    EXPECT_EQ(listen(listener_.get(), 64), 0);
    EXPECT_EQ(getsockname(listener_.get(), any, &length), 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  LoopbackSshd(const LoopbackSshd&) = delete;
  LoopbackSshd& operator=(const LoopbackSshd&) = delete;
  ~LoopbackSshd() {
    shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    HangUp();
    for (std::thread& line : lines_) line.join();
  }

  uint16_t port() const { return port_; }
  std::string HostKeyLine() const {
    return "[127.0.0.1]:" + std::to_string(port_) + " " + folder_.Read("host_key.pub");
  }
  // Accepts logins with this key from now on.
  void Accept(const std::string& key_file) const {
    Shell("cat " + key_file + ".pub >> " + folder_.path() + "/authorized_keys");
  }
  static std::string User() { return getpwuid(geteuid())->pw_name; }

  void HangUp() {
    const std::lock_guard lock(mutex_);
    for (const int fd : clients_) shutdown(fd, SHUT_RDWR);
  }
  // Sends these lines to new clients before sshd's.
  void SayFirst(std::string lines) { first_ = std::move(lines); }
  // Drops the next data from the client, and breaks the connection.
  void HangUpAtNextRequest() { cut_at_next_request_ = true; }

 private:
  void Accept() {
    for (;;) {
      base::UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
      const std::string config = folder_.path() + "/sshd_config";
      const std::string log = folder_.path() + "/log";
      const pid_t pid = fork();
      if (pid == 0) {
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execl("/usr/sbin/sshd", "sshd", "-i", "-f", config.c_str(), "-E", log.c_str(), nullptr);
        _exit(127);
      }
      close(ends[1]);
      (void)base::WriteAll(client.get(), first_, base::Deadline::Never());
      const std::lock_guard lock(mutex_);
      clients_.push_back(client.get());
      lines_.emplace_back(
          [this, client = std::move(client), server = base::UniqueFd(ends[0]), pid] {
            Pass(client.get(), server.get());
            shutdown(client.get(), SHUT_RDWR);
            shutdown(server.get(), SHUT_RDWR);
            waitpid(pid, nullptr, 0);
            const std::lock_guard gone(mutex_);
            std::erase(clients_, client.get());
          });
    }
  }

  void Pass(int client, int server) {
    pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    for (;;) {
      poll(ends, 2, -1);
      for (int from : {0, 1}) {
        if (ends[from].revents == 0) continue;
        char buffer[16384];
        const ssize_t got = read(ends[from].fd, buffer, sizeof buffer);
        if (got <= 0 || (from == 0 && cut_at_next_request_.exchange(false))) return;
        const std::string_view data(buffer, static_cast<size_t>(got));
        if (!base::WriteAll(ends[1 - from].fd, data, base::Deadline::Never()).ok()) return;
      }
    }
  }

  const TempFolder folder_;
  base::UniqueFd listener_;
  uint16_t port_ = 0;
  std::string first_;
  std::atomic<bool> cut_at_next_request_{false};
  std::mutex mutex_;
  std::vector<int> clients_;        // guarded by mutex_
  std::vector<std::thread> lines_;  // guarded by mutex_ until acceptor_ has ended
  std::thread acceptor_;
};

}  // namespace autodist::test
