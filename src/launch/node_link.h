// The chief's connection to the agent on one node.
#pragma once

#include <functional>
#include <stop_token>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/deadline.h"
#include "transfer/fetch_files.h"
#include "transfer/folder_sync.h"

namespace autodist::launch {

// Receives the messages of a session. Called on gRPC's threads, one call at a time; must not block.
class SessionListener {
 public:
  virtual void OnEvent(v1::AgentEvent event) = 0;
  // Last call, unless the link is detached. OK: the agent has reported that no process of the job
  // is left on its node.
  virtual void OnClosed(Status status) = 0;

 protected:
  ~SessionListener() = default;
};

// Thread-safe.
class NodeLink {
 public:
  // Ends the session, as EndSession does.
  virtual ~NodeLink() = default;

  // Call once, before Prepare. Blocks until the node of this rank has the folder; `stop` ends it
  // early.
  virtual Status Sync(transfer::FolderSync& sync, uint32_t node_rank,
                      const std::stop_token& stop) = 0;

  // Each blocks until the agent has answered; `stop` ends it early.
  virtual Result<v1::PrepareResponse> Prepare(const v1::PrepareRequest& request,
                                              base::Deadline deadline,
                                              const std::stop_token& stop) = 0;
  // The same without blocking, one at a time: `done` is called once, on a gRPC thread. It must not
  // block or destroy the link, which must outlive the call.
  using Prepared = std::function<void(Result<v1::PrepareResponse> prepared)>;
  virtual void PrepareLater(v1::PrepareRequest request, base::Deadline deadline,
                            const std::stop_token& stop, Prepared done) = 0;
  virtual Result<v1::OpenPortsResponse> OpenPorts(const v1::OpenPortsRequest& request,
                                                  base::Deadline deadline,
                                                  const std::stop_token& stop) = 0;
  virtual Result<v1::TryPortsResponse> TryPorts(const v1::TryPortsRequest& request,
                                                base::Deadline deadline,
                                                const std::stop_token& stop) = 0;

  // Blocks until the files have arrived, or `stop`; call at any time, but not concurrently.
  virtual transfer::FetchedFiles Fetch(const transfer::FetchOrder& order,
                                       transfer::FetchedFolder& folder,
                                       const std::stop_token& stop) = 0;

  // Call once. The listener must outlive the session.
  virtual void OpenSession(SessionListener& listener) = 0;
  // Queues the message; drops it if the session has ended.
  virtual void Send(v1::ChiefMessage message) = 0;
  // Ends the session from this side; OnClosed follows.
  virtual void Break() = 0;
  // The same, but the listener is not called after this returns. Waits only for a call of the
  // listener that is in progress.
  virtual void Detach() { EndSession(); }
  // The same, and waits until the connection allows to end the session: over a second.
  virtual void EndSession() = 0;
  // The same at process exit; does not destroy gRPC objects, which is slow.
  virtual void EndAtExit() { EndSession(); }

  // Blocks until the connection's far end has closed, that is, the agent has exited.
  virtual bool WaitClosed(base::Deadline deadline) = 0;
};

}  // namespace autodist::launch
