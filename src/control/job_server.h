// The control socket of a running autodist: answers questions about the job, and passes requests on
// to it.
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

// Thread-safe. Recreates the socket within seconds if it is removed, as logging out removes
// XDG_RUNTIME_DIR.
class JobServer {
 public:
  // `requests` are made until End or the destructor. kAlreadyExists if the job has a server.
  static Result<std::unique_ptr<JobServer>> Start(const std::string& job_id, JobRequests requests);
  // Removes the socket. Blocks until clients that wait for the end have their answer, for a second
  // at most; without End they get no status.
  ~JobServer();

  // Sets the status for later requests. Does not block.
  void Publish(const v1::JobStatus& status);

  // The job has ended and writes nothing more: its log files are complete.
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
  // The thread accepts connections and shuts gRPC's server down: at that time, another thread might
  // fail to start.
  struct Ending {
    std::promise<void> accepts_no_more;
    std::promise<void> may_shut_down;
    std::promise<void> is_shut_down;
  };
  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  base::UniqueFd stop_;  // closing it stops the accepting
  std::thread acceptor_;
};

}  // namespace autodist::control
