#include "metrics/server.h"

#include <utility>

namespace autodist::metrics {
namespace {

constexpr int kNotFound = 404;
constexpr int kUnavailable = 503;

Format WantedBy(const std::string& accept) {
  return accept.find("application/openmetrics-text") != accept.npos ? Format::kOpenMetrics
                                                                    : Format::kText;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(const Options& options) {
  AD_ASSIGN_OR_RETURN(const auto address, base::ListenAddress::Parse(options.address));
  AD_ASSIGN_OR_RETURN(base::Listening listening, base::Listen(address));
  return std::unique_ptr<Server>(new Server(std::move(listening), options.job_id));
}

Server::Server(base::Listening listening, const std::string& job_id)
    : address_(listening.address),
      reader_(job_id),
      scrapes_([this] { return reader_.Board(); }),
      http_(std::move(listening.socket),
            [this](const std::string& path, const std::string& accept) {
              return AnswerTo(path, accept);
            }) {}

Answer Server::AnswerTo(const std::string& path, const std::string& accept) {
  if (path == "/-/healthy") return {.body = "autodist serves the metrics of its job\n"};
  if (path != "/metrics") return {.status = kNotFound, .body = "/metrics is what there is\n"};
  const Format format = WantedBy(accept);
  auto text = scrapes_.Scrape(format);
  if (!text.ok()) return {.status = kUnavailable, .body = Message(text.status()) + "\n"};
  return {.type = ContentType(format), .body = *std::move(text)};
}

}  // namespace autodist::metrics
