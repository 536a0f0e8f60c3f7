// autodist-bench PLAN: measures the collective operations between the ranks of a job. Started by
// `autodist bench`, which shows the output of rank 0.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "autodist/client.h"
#include "json/proto_json.h"
#include "sweep.h"

namespace autodist::bench {
namespace {

Result<v1::BenchPlan> ParsePlan(const std::string& text) {
  v1::BenchPlan plan;
  if (!json::FromJson(text, plan).ok() || plan.from() == 0 || plan.factor() < 2) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "invalid measurement plan"),
                      "start this program with `autodist bench`");
  }
  return plan;
}

uint32_t RanksOnNode() {
  const char* text = std::getenv("AUTODIST_LOCAL_WORLD_SIZE");
  return text ? static_cast<uint32_t>(std::max(std::atoi(text), 1)) : 1;
}

Status Run(const std::string& text) {
  AD_ASSIGN_OR_RETURN(const v1::BenchPlan plan, ParsePlan(text));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect());
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, MakeDevice(plan.backend(), *client));
  AD_ASSIGN_OR_RETURN(const uint64_t free, device->FreeBytes(RanksOnNode()));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> ring, device->Connect(*client));
  const bool prints = client->rank() == 0;
  Printer printer(prints, plan.csv_file());
  AD_RETURN_IF_ERROR(printer.status());
  AD_ASSIGN_OR_RETURN(const uint64_t wrong, Sweep(plan, {client->rank(), client->world_size()},
                                                  free, *device, *ring, printer));
  AD_RETURN_IF_ERROR(ring->Barrier());  // others may still be receiving
  AD_RETURN_IF_ERROR(printer.status());
  if (wrong == 0 || !prints) return OkStatus();
  return Error(StatusCode::kDataLoss, std::to_string(wrong) + " wrong numbers in the results");
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
