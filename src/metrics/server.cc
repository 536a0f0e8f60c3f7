#include "metrics/server.h"

#include <utility>

#include "base/wall_clock.h"
#include "metrics/snapshot_metrics.h"

namespace autodist::metrics {
namespace {

constexpr std::chrono::seconds kFresh{1};

constexpr int kNotFound = 404;
constexpr int kNotAllowed = 405;
constexpr int kUnavailable = 503;

Format WantedBy(const std::string& accept) {
  return accept.find("application/openmetrics-text") != accept.npos ? Format::kOpenMetrics
                                                                    : Format::kText;
}

// Answers everything but scrapes at once.
http::Admission AdmitTo(const http::Request& request) {
  if (request.method != "GET") {
    http::Answer answer = http::Refusal(kNotAllowed, "only GET is allowed");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return {answer};
  }
  if (request.path == "/-/healthy") {
    return {http::Answer{.body = "autodist serves the metrics of the job\n"}};
  }
  if (request.path != "/metrics") return {http::Refusal(kNotFound, "the metrics are at /metrics")};
  return {};
}

}  // namespace

void Scrapes::Read(Clock::time_point now) {
  const auto snapshot = read_snapshot_();
  if (!snapshot.ok()) {
    families_ = snapshot.status();
  } else if (!*snapshot) {
    families_ = Error(StatusCode::kUnavailable, "no snapshot of the job yet");
  } else {
    families_ = MetricsOf(**snapshot, base::MillisecondsSince1970());
  }
  read_at_ = now;
}

Result<std::string> Scrapes::Scrape(Format format, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!read_at_ || now - *read_at_ >= kFresh) Read(now);
  if (!families_.ok()) return families_.status();
  return AsText(*families_, format);
}

Result<std::unique_ptr<Server>> Server::Start(const Options& options) {
  AD_ASSIGN_OR_RETURN(const auto address, base::ListenAddress::Parse(options.address));
  AD_ASSIGN_OR_RETURN(base::Listening listening, base::Listen(address));
  std::unique_ptr<Server> server(new Server(listening.address, options.job_id));
  const http::Options limits = {.listening = listening.address.ip,
                                .max_strangers = kMaxConnections};
  const auto scrape = [server = server.get()](const http::Request& request) {
    return server->Scrape(request);
  };
  AD_ASSIGN_OR_RETURN(server->http_,
                      http::Server::Start(std::move(listening.socket), limits, {AdmitTo, scrape}));
  return server;
}

Server::Server(base::ListenAddress address, const std::string& job_id)
    : address_(std::move(address)),
      reader_(job_id),
      scrapes_([this] { return reader_.Snapshot(); }) {}

http::Answer Server::Scrape(const http::Request& request) {
  const Format format = WantedBy(request.header("Accept"));
  auto text = scrapes_.Scrape(format);
  if (!text.ok()) return http::Refusal(kUnavailable, Message(text.status()));
  return {.type = ContentType(format), .body = *std::move(text)};
}

}  // namespace autodist::metrics
