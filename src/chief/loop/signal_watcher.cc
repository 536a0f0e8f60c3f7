#include "chief/loop/signal_watcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/exceptions.h"

namespace autodist::chief {
namespace {

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP}) {
    sigaddset(&set, signal);
  }
  // nohup ignores it; it must stay ignored.
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

// Includes SIGWINCH, for which readers of the terminal wait (chief/input/terminal_input.h).
sigset_t BlockedSignals() {
  sigset_t set = WatchedSignals();
  sigaddset(&set, SIGWINCH);
  return set;
}

}  // namespace

SignalWatcher::SignalWatcher(std::function<void(int)> handler) : stop_(eventfd(0, EFD_CLOEXEC)) {
  const sigset_t set = WatchedSignals();
  const sigset_t blocked = BlockedSignals();
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  signals_.Reset(signalfd(-1, &set, SFD_CLOEXEC));
  thread_ = std::thread([this, handler = std::move(handler)] {
    for (;;) {
      pollfd fds[] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (poll(fds, 2, -1) < 0) continue;
      if (fds[1].revents != 0) return;
      signalfd_siginfo info;
      if (read(signals_.get(), &info, sizeof info) == sizeof info) {
        base::HandlingExceptions([&] { handler(static_cast<int>(info.ssi_signo)); });
      }
    }
  });
}

SignalWatcher::~SignalWatcher() {
  const uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalWatcher::BlockResize() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void SignalWatcher::Block() {
  const sigset_t set = BlockedSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace autodist::chief
