#include "cli/job_views.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/log.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;

constexpr char kAddressFile[] = "web-address";

}  // namespace

Result<std::unique_ptr<JobViews>> JobViews::Start(const v1::JobRequest& request,
                                                  const std::string& job_id) {
  std::unique_ptr<JobViews> views(new JobViews);
  if (request.has_metrics()) {
    auto metrics = metrics::Server::Start({request.metrics(), job_id});
    if (!metrics.ok()) return Annotate(metrics.status(), "--metrics");
    views->metrics_ = *std::move(metrics);
  }
  if (request.has_web()) {
    auto web = web::Server::Start({.job = job_id,
                                   .only_job = true,
                                   .address = request.web(),
                                   .control = request.web_allow_actions()});
    if (!web.ok()) return Annotate(web.status(), "--web");
    views->web_ = *std::move(web);
  }
  return views;
}

JobViews::~JobViews() {
  if (!address_kept_in_) return;
  const auto folder = address_kept_in_->Open();
  if (folder.ok()) unlinkat((*folder)->get(), kAddressFile, 0);  // the address is no longer valid
}

void JobViews::Announce(const base::LogFolder& log_folder) {
  if (std::exchange(announced_, true)) return;
  if (metrics_) Log(LogLevel::kInfo, "metrics at " + metrics_->url());
  if (!web_) return;
  if (!web_->is_local()) Log(LogLevel::kWarning, web::kTokenIsRead);
  if (isatty(STDERR_FILENO) == 1) {
    Log(LogLevel::kInfo, "page at " + web_->url());
  } else {
    KeepAddress(log_folder);
  }
}

void JobViews::KeepAddress(const base::LogFolder& folder) {
  const Status kept = folder.WriteFile(kAddressFile, web_->url() + "\n");
  if (!kept.ok()) {
    return Log(LogLevel::kWarning, "the address of the page cannot be written: " + Message(kept));
  }
  address_kept_in_ = folder;
  Log(LogLevel::kInfo, "page: its address is in " +
                           (std::filesystem::absolute(folder.path()) / kAddressFile).string());
}

}  // namespace autodist::cli
