// The control socket of a running autodist: answers who asks about the job, and passes on what it
// is asked for.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/fd.h"
#include "control/job_requests.h"

namespace grpc {
class Server;
}

namespace autodist::control {

class SnapshotCalls;

// Thread-safe. A socket that somebody removes, as logging out removes XDG_RUNTIME_DIR, is made
// anew within seconds.
class JobServer {
 public:
  // `requests` are made until it is destroyed, or told of the end. kAlreadyExists where the job has
  // a server.
  static Result<std::unique_ptr<JobServer>> Start(const std::string& job_id, JobRequests requests);
  // Removes the socket. Blocks until those who wait for the end have their answer, for a second at
  // most; where there was no End they learn nothing.
  ~JobServer();

  // What who asks learns from now on. Does not block.
  void Publish(const v1::JobStatus& status);

  // The job has ended, and nothing of it will be written any more: its log files are complete.
  void End(const v1::JobStatus& status);

 private:
  class Service;
  class Socket;

  JobServer(std::unique_ptr<Service> service, std::unique_ptr<SnapshotCalls> snapshot_calls);
  void AcceptLoop(int stop);

  std::unique_ptr<Service> service_;
  std::unique_ptr<SnapshotCalls> snapshot_calls_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Socket> socket_;
  // The thread accepts, and shuts gRPC's server down: it may be that no other can be started.
  struct Ending {
    std::promise<void> accepts_no_more;
    std::promise<void> may_shut_down;
    std::promise<void> is_shut_down;
  };
  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  base::UniqueFd stop_;  // closing it ends the accepting
  std::thread acceptor_;
};

}  // namespace autodist::control
