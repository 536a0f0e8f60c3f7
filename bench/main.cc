// autodist-bench PLAN: measures the collective operations between the ranks of a job, or exchanges
// between pairs of nodes. Started by `autodist bench`, which shows the output of rank 0, and by
// `autodist doctor --burn`.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "autodist/client.h"
#include "exchange.h"
#include "json/proto_json.h"
#include "sweep.h"

namespace autodist::bench {
namespace {

using std::chrono::milliseconds;

Result<v1::BenchPlan> ParsePlan(const std::string& text) {
  v1::BenchPlan plan;
  if (!json::FromJson(text, plan).ok() ||
      (plan.exchange_ms() == 0 && (plan.from() == 0 || plan.factor() < 2))) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "invalid measurement plan"),
                      "start this program with `autodist bench`");
  }
  return plan;
}

uint32_t RanksOnNode() {
  const char* text = std::getenv("AUTODIST_LOCAL_WORLD_SIZE");
  return text ? static_cast<uint32_t>(std::max(std::atoi(text), 1)) : 1;
}

Status SweepCollectives(const v1::BenchPlan& plan, const Client& client, uint64_t free,
                        Device& device, Communicator& ring) {
  const bool prints = client.rank() == 0;
  Printer printer(prints, plan.csv_file());
  AD_RETURN_IF_ERROR(printer.status());
  AD_ASSIGN_OR_RETURN(const uint64_t wrong, Sweep(plan, {client.rank(), client.world_size()}, free,
                                                  device, ring, printer));
  AD_RETURN_IF_ERROR(printer.status());
  if (wrong == 0 || !prints) return OkStatus();
  return Error(StatusCode::kDataLoss, std::to_string(wrong) + " wrong numbers in the results");
}

Status ExchangeBetweenNodes(milliseconds time, const Client& client, uint64_t free, Device& device,
                            Communicator& ring) {
  AD_ASSIGN_OR_RETURN(const v1::ExchangeResult result, Exchange(time, free, client, device, ring));
  if (std::puts(json::JsonText(result).c_str()) < 0) return ErrnoError(errno, "stdout");
  return OkStatus();
}

Status Run(const std::string& text) {
  AD_ASSIGN_OR_RETURN(const v1::BenchPlan plan, ParsePlan(text));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect());
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, MakeDevice(plan.backend(), *client));
  AD_ASSIGN_OR_RETURN(const uint64_t free, device->FreeBytes(RanksOnNode()));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> ring, device->Connect(*client));
  const Status status =
      plan.exchange_ms() > 0
          ? ExchangeBetweenNodes(milliseconds(plan.exchange_ms()), *client, free, *device, *ring)
          : SweepCollectives(plan, *client, free, *device, *ring);
  AD_RETURN_IF_ERROR(status);
  return ring->Barrier();  // others may still be receiving
}

}  // namespace
}  // namespace autodist::bench

int main(int argc, char** argv) {
  const autodist::Status status = autodist::bench::Run(argc == 2 ? argv[1] : "");
  if (status.ok()) return 0;
  const std::string remedy = autodist::Remedy(status);
  std::fprintf(stderr, "autodist-bench: %s\n%s%s%s", autodist::Message(status).c_str(),
               remedy.empty() ? "" : "hint: ", remedy.c_str(), remedy.empty() ? "" : "\n");
  return 1;
}
