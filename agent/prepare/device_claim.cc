#include "agent/prepare/device_claim.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestClaim = 64 << 10;  // bytes

// The name of the file until the job has its devices; renaming is cheap.
std::string Waiting(const std::string& file) { return file + ".waiting"; }

}  // namespace

// In the order in which a file that is being renamed is not missed.
std::vector<std::string> FilesOfClaim(const std::string& file) { return {Waiting(file), file}; }

void DeviceClaim::Want(const v1::NodePlan& node) const {
  if (file_.empty() || access(file_.c_str(), F_OK) == 0) return;
  v1::OtherJob claim;
  for (const v1::Device& device : node.devices()) {
    if (!device.uuid().empty()) continue;  // the number is unknown
    const bool gpu = device.kind() == v1::DEVICE_KIND_GPU;
    gpu ? claim.add_gpus(device.index()) : claim.add_cpus(device.index());
  }
  const base::UniqueFd fd(
      open(Waiting(file_).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return;
  (void)base::WriteAll(fd.get(), claim.SerializeAsString(), base::Deadline::Never()).ok();
}

void DeviceClaim::Have() const {
  if (!file_.empty()) (void)std::rename(Waiting(file_).c_str(), file_.c_str());
}

std::pair<std::vector<v1::OtherJob>, bool> DeviceClaim::Look(const v1::NodePlan& node) const {
  std::vector<v1::OtherJob> others = OfOthers();
  const bool is_later = std::ranges::any_of(others, [&](const v1::OtherJob& other) {
    if (other.waiting() && other.job_id() > job_id_) return false;
    return std::ranges::any_of(node.devices(), [&](const v1::Device& device) {
      const auto& taken = device.kind() == v1::DEVICE_KIND_GPU ? other.gpus() : other.cpus();
      return device.uuid().empty() && std::ranges::count(taken, device.index()) > 0;
    });
  });
  return {std::move(others), is_later};
}

std::vector<v1::OtherJob> DeviceClaim::Reserve(const v1::NodePlan& node) const {
  const auto give_way = [this] { (void)std::rename(file_.c_str(), Waiting(file_).c_str()); };
  give_way();  // it may have reserved them before
  Want(node);
  if (auto [others, is_later] = Look(node); is_later) return std::move(others);
  Have();
  // Another job may have read the claim before.
  auto [others, is_later] = Look(node);
  if (is_later) give_way();
  return std::move(others);
}

std::vector<v1::OtherJob> DeviceClaim::OfOthers() const {
  std::vector<v1::OtherJob> jobs;
  if (!others_) return jobs;
  for (const OtherAgent& other : others_()) {
    for (const std::string& file : FilesOfClaim(other.devices)) {
      const auto text = base::ReadFile(file, kLargestClaim);
      v1::OtherJob job;
      if (!text.ok() || !job.ParseFromString(*text)) continue;
      job.set_job_id(other.job_id);
      job.set_waiting(file != other.devices);
      jobs.push_back(std::move(job));
      break;
    }
  }
  return jobs;
}

}  // namespace autodist::agent
