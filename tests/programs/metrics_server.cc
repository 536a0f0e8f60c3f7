// metrics_server SNAPSHOT.json: serves the metrics of a job with the current snapshot in the file,
// until stdin is closed. Prints the address.
#include <google/protobuf/util/json_util.h>
#include <unistd.h>
#include <memory>

#include <cstdio>
#include <functional>
#include <string>

#include "base/fd.h"
#include "control/job_server.h"
#include "metrics/server.h"

namespace {

constexpr char kJob[] = "job-1";
constexpr size_t kLargestFile = 16 << 20;

autodist::v1::JobSnapshot Read(const std::string& file) {
  autodist::v1::JobSnapshot snapshot;
  const auto text = autodist::base::ReadFile(file, kLargestFile);
  if (!text.ok() || !google::protobuf::util::JsonStringToMessage(*text, &snapshot).ok()) {
    std::fprintf(stderr, "%s is no snapshot\n", file.c_str());
  }
  return snapshot;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string file = argv[1];
  autodist::control::JobRequests requests;
  requests.snapshots.snapshot = [&file](
                                    const autodist::v1::GetSnapshotRequest&,
                                    const autodist::control::JobRequests::SnapshotAnswer& answer) {
    answer(std::make_shared<const autodist::v1::JobSnapshot>(Read(file)));
  };
  const auto job = autodist::control::JobServer::Start(kJob, std::move(requests));
  const auto server = autodist::metrics::Server::Start({"127.0.0.1:0", kJob});
  for (const auto& status : {job.status(), server.status()}) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", Message(status).c_str());
    if (!status.ok()) return 1;
  }
  std::printf("%s\n", (*server)->url().c_str());
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
