// autodist-agent: the part of autodist that runs on each node. Started by the chief, never by
// users.
#include <signal.h>

#include <cstdio>
#include <cstring>

#include "agent/horovod/horovod_store.h"
#include "agent/life/attach.h"
#include "agent/life/clean.h"
#include "agent/life/connect_back.h"
#include "agent/mpi/remote_shell.h"
#include "autodist/v1/messages_digest.h"
#include "base/name_service.h"

// The mark by which autodist recognizes an agent (transfer/node_program).
[[gnu::used, gnu::retain]] static const char kMessages[] =
    AUTODIST_MESSAGES_MARK AUTODIST_MESSAGES_DIGEST;

int main(int argc, char** argv) {
  // Exceeding the file size limit becomes a write error, and does not end the agent.
  signal(SIGXFSZ, SIG_IGN);
  autodist::base::UseFilesAndDns();
  const char* mode = argc > 1 ? argv[1] : "";
  if (std::strcmp(mode, "attach") == 0) return autodist::agent::Attach(argc, argv);
  if (std::strcmp(mode, "connect-back") == 0) return autodist::agent::ConnectBack(argc, argv);
  if (std::strcmp(mode, "clean") == 0) return autodist::agent::Clean();
  if (std::strcmp(mode, "remote-shell") == 0) return autodist::agent::RemoteShell(argc, argv);
  if (std::strcmp(mode, "remote-shell-server") == 0) {
    return autodist::agent::RemoteShellServer(argc, argv);
  }
  if (std::strcmp(mode, "horovod-store") == 0) return autodist::agent::HorovodStore(argc, argv);
  std::fprintf(stderr,
               "autodist-agent is started by `autodist run` on every node of a job; do "
               "not run it by hand.\n");
  return 2;
}
