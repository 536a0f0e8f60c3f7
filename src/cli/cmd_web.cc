// autodist web [JOB] [--listen ADDRESS:PORT | --socket PATH] [--allow-actions]
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>

#include "base/exit_codes.h"
#include "base/host_name.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/values.h"
#include "web/server.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;

struct WebOptions {
  std::string job;
  std::string listen;
  std::string socket;
  std::pair<std::string, std::string> forwarded;  // a socket, and the address forwarded to it
  bool allow_actions = false;
};

Result<web::Options> Read(const WebOptions& options) {
  web::Options read;
  read.control = options.allow_actions;
  read.address = options.listen;
  if (!options.job.empty()) {
    AD_ASSIGN_OR_RETURN(const v1::JobStatus job, NamedJob(options.job));
    if (job.elsewhere()) return IsElsewhere(job, "web", {}, "shows the page here");
    read.job = job.job_id();
  }
  if (!options.forwarded.first.empty()) {
    std::tie(read.socket, read.forwarded) = options.forwarded;
  } else if (!options.socket.empty()) {
    read.socket = std::filesystem::absolute(options.socket);
  }
  return read;
}

int Web(const WebOptions& options) {
  const auto read = Read(options);
  if (!read.ok()) return Fail(read.status(), kExitUsage);
  // Blocked before threads start, so that sigwait receives them.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const auto server = web::Server::Start(*read);
  if (!server.ok()) return Fail(server.status(), kExitCannotLaunch);
  if (!read->socket.empty() && read->forwarded.empty()) {
    Log(LogLevel::kInfo, "on your own machine: ssh -L 8080:" + read->socket + " " +
                             base::HostName() + ", and then the address below");
  } else if (!(*server)->is_local()) {
    Log(LogLevel::kWarning, web::kTokenIsRead);
  }
  std::printf("%s\n", (*server)->url().c_str());
  std::fflush(stdout);
  int signal = 0;
  while (sigwait(&ends, &signal) != 0) continue;
  return 0;
}

}  // namespace

Command AddWeb(CLI::App& app) {
  auto options = std::make_shared<WebOptions>();
  AddJob(app, options->job, "Job to show first: id, name or 'last'; the page lists all jobs");
  auto* listen = app.add_option("--listen", options->listen,
                                "Address and port; port 0 selects a free port. Not encrypted: "
                                "prefer a loopback address")
                     ->type_name("ADDRESS:PORT")
                     ->default_str("127.0.0.1:0")
                     ->check(ListenAddressText());
  app.add_option("--socket", options->socket, "Listen on a unix socket instead, for ssh -L")
      ->type_name("FILE")
      ->check(NotEmpty())
      ->excludes(listen);
  // From an `autodist web` on another machine, which forwards the socket.
  app.add_option("--forwarded", options->forwarded)->group("");
  app.add_flag("--allow-actions", options->allow_actions,
               "Allow viewers to stop jobs and collect stacks");
  app.footer(R"(
Shows your running and ended jobs on this machine in a browser, live: progress,
speed, issues, GPUs, ranks, curves, and logs with search. Prints the address,
which contains a token: anyone who has it can view the jobs. Runs until Ctrl-C.

Examples:
  autodist web
  autodist web last --listen 127.0.0.1:8080
  autodist web --socket ~/web.sock   then: ssh -L 8080:/home/me/web.sock HOST)");
  return [options] { return Web(*options); };
}

}  // namespace autodist::cli
