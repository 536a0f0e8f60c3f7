#include "metrics/server.h"

#include <utility>

namespace autodist::metrics {
namespace {

constexpr int kNotFound = 404;
constexpr int kNotAllowed = 405;
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
      http_(
          std::move(listening.socket),
          [this](const http::Request& request) { return AnswerTo(request); }, kMostConnections) {}

http::Answer Server::AnswerTo(const http::Request& request) {
  if (request.method != "GET") {
    http::Answer answer = http::Refusal(kNotAllowed, "there is nothing to do here but to look");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  if (request.path == "/-/healthy") return {.body = "autodist serves the metrics of its job\n"};
  if (request.path != "/metrics") return http::Refusal(kNotFound, "/metrics is what there is");
  const Format format = WantedBy(request.header("Accept"));
  auto text = scrapes_.Scrape(format);
  if (!text.ok()) return http::Refusal(kUnavailable, Message(text.status()));
  return {.type = ContentType(format), .body = *std::move(text)};
}

}  // namespace autodist::metrics
