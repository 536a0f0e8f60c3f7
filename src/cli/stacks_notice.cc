#include "cli/stacks_notice.h"

#include <unistd.h>

#include <chrono>
#include <cstddef>

#include "base/a_few_of.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/thread.h"
#include "control/job_client.h"

namespace autodist::cli {
namespace {

constexpr size_t kNamedNodes = 4;
constexpr std::chrono::seconds kBetweenNotices{5};

}  // namespace

std::string ReadingStacksText(const v1::JobStatus& job) {
  size_t nodes = 0;
  size_t ranks = 0;
  for (const v1::NodeStatus& node : job.nodes()) {
    if (node.running_ranks() == 0) continue;
    ++nodes;
    ranks += node.running_ranks();
  }
  if (ranks == 0) return "";
  return "reading the stacks of " + base::Count(ranks, "rank") + " on " +
         base::Count(nodes, "node") + "; this takes some seconds, and up to a minute with gdb";
}

std::string AwaitedNodesText(const v1::AwaitedNodes& nodes) {
  if (nodes.addresses().empty()) return "";
  return "waiting for the stacks of " +
         base::AFewOf({nodes.addresses().begin(), nodes.addresses().end()}, kNamedNodes);
}

StacksNotice::StacksNotice(const v1::JobStatus& job) {
  const std::string text = ReadingStacksText(job);
  if (text.empty() || isatty(STDERR_FILENO) != 1) return;
  base::Log(base::LogLevel::kInfo, text);
  auto thread = base::StartThread(
      [this, job_id = job.job_id()](const std::stop_token& stop) { Run(job_id, stop); });
  if (thread.ok()) thread_ = *std::move(thread);
}

void StacksNotice::Run(const std::string& job_id, const std::stop_token& stop) {
  std::string shown;
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, stop, kBetweenNotices, [&] { return stop.stop_requested(); })) {
    const auto client = control::JobClient::Connect(job_id);
    const auto nodes = client.ok() ? client->GetAwaitedNodes(stop) : client.status();
    if (stop.stop_requested()) return;
    const std::string text = nodes.ok() ? AwaitedNodesText(*nodes) : "";
    if (!text.empty() && text != shown) base::Log(base::LogLevel::kInfo, text);
    shown = text;
  }
}

}  // namespace autodist::cli
