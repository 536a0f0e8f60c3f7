#include "chief/views.h"

#include <utility>

#include "base/log.h"

namespace autodist::chief {

using base::Log;
using base::LogLevel;

Result<Views> Views::Start(const ViewOptions& options, const std::string& job_id) {
  Views views;
  if (!options.metrics.empty()) {
    auto metrics = metrics::Server::Start({options.metrics, job_id});
    if (!metrics.ok()) return Annotate(metrics.status(), "--metrics");
    views.metrics_ = *std::move(metrics);
    Log(LogLevel::kInfo, "metrics at " + views.metrics_->url());
  }
  if (options.web) {
    auto web = web::Server::Start(
        {.job = job_id, .address = *options.web, .control = options.web_control});
    if (!web.ok()) return Annotate(web.status(), "--web");
    views.web_ = *std::move(web);
    if (!views.web_->is_local()) Log(LogLevel::kWarning, web::kTokenIsRead);
    Log(LogLevel::kInfo, "page at " + views.web_->url());
  }
  return views;
}

}  // namespace autodist::chief
