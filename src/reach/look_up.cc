#include "reach/look_up.h"

#include <future>
#include <memory>
#include <utility>

#include "base/name_service.h"
#include "base/thread.h"
#include "reach/name_service.h"

namespace autodist::reach {
namespace {

using Addresses = std::vector<base::IpAddress>;

// How long is for the name service to know.
Result<Addresses> Ask(const std::string& host, base::Deadline deadline) {
  Result<Addresses> addresses = base::AddressesOf(host);
  if (addresses.ok()) return addresses;
  // RFC 6761: whatever the name service knows.
  if (host == "localhost") return Addresses{*base::IpAddress::Parse("127.0.0.1")};
  Addresses others = AskGetentForHost(host, deadline);
  if (!others.empty()) return others;
  return addresses;
}

}  // namespace

Result<Addresses> LookUp(const std::string& host, base::Deadline deadline) {
  if (const auto numeric = base::IpAddress::Parse(host)) return Addresses{*numeric};
  const Status unanswered =
      Error(StatusCode::kDeadlineExceeded,
            "name does not resolve: '" + host + "': the name service does not answer");
  if (deadline.Expired()) return unanswered;  // it would be another thread that is lost
  std::promise<Result<Addresses>> promise;
  auto answer = promise.get_future();
  // getaddrinfo has no time limit of ours, and nothing ends it.
  auto thread = base::StartThread([host, deadline, promise = std::move(promise)]() mutable {
    promise.set_value(Ask(host, deadline));
  });
  if (!thread.ok()) return Annotate(thread.status(), "name does not resolve: '" + host + "'");
  thread->detach();
  if (answer.wait_until(deadline.when()) == std::future_status::ready) return answer.get();
  return unanswered;
}

}  // namespace autodist::reach
