// autodist-bench PLAN: measures the collective operations between the ranks of a job. Started by
// `autodist bench`, which shows what rank 0 prints.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "autodist/client.h"
#include "sweep.h"
#include "table.h"

namespace autodist::bench {
namespace {

Result<v1::BenchPlan> ParsePlan(const std::string& json) {
  v1::BenchPlan plan;
  if (!google::protobuf::util::JsonStringToMessage(json, &plan).ok() || plan.from() == 0 ||
      plan.factor() < 2) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "this is no plan of measurements"),
                      "start this program with `autodist bench`");
  }
  return plan;
}

uint32_t RanksOnNode() {
  const char* text = std::getenv("AUTODIST_LOCAL_WORLD_SIZE");
  return text ? static_cast<uint32_t>(std::max(std::atoi(text), 1)) : 1;
}

// What rank 0 tells.
class Printer {
 public:
  static Result<std::unique_ptr<Printer>> Make(const std::string& csv_file) {
    auto printer = std::make_unique<Printer>();
    if (csv_file.empty()) return printer;
    printer->csv_.reset(std::fopen(csv_file.c_str(), "w"));
    if (!printer->csv_) return ErrnoError(errno, csv_file);
    printer->Print(kCsvHead, printer->csv_.get());
    return printer;
  }

  Report report() {
    return {[this](v1::Collective collective) {
              Print((std::exchange(begun_, true) ? "\n" : "") + TableHead(collective), stdout);
            },
            [this](const Row& row) {
              Print(TableRow(row), stdout);
              if (csv_) Print(CsvRow(row), csv_.get());
            },
            [](Size size, uint64_t free) {
              std::fprintf(stderr,
                           "%llu bytes and more are left out: there are %llu bytes of memory for "
                           "a rank\n",
                           static_cast<unsigned long long>(size.bytes),
                           static_cast<unsigned long long>(free));
            }};
  }

  // Whether all of it is where it should be.
  Status status() const {
    return error_ == 0 ? OkStatus() : ErrnoError(error_, "writing the results");
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void Print(const std::string& text, std::FILE* file) {
    if (std::fputs(text.c_str(), file) < 0 || std::fflush(file) != 0) error_ = errno;
  }

  bool begun_ = false;
  int error_ = 0;
  std::unique_ptr<std::FILE, Close> csv_;
};

Report Silence() {
  return {[](v1::Collective) {}, [](const Row&) {}, [](Size, uint64_t) {}};
}

Status Run(const std::string& json) {
  AD_ASSIGN_OR_RETURN(const v1::BenchPlan plan, ParsePlan(json));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect());
  std::unique_ptr<Device> device = MakeCpuDevice();
  if (plan.backend() == v1::BACKEND_NCCL) {
    AD_ASSIGN_OR_RETURN(device, MakeGpuDevice(*client));
  }
  AD_ASSIGN_OR_RETURN(const uint64_t free, device->FreeBytes(RanksOnNode()));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> ring, device->Connect(*client));
  const bool prints = client->rank() == 0;
  AD_ASSIGN_OR_RETURN(const auto printer, Printer::Make(prints ? plan.csv_file() : ""));
  AD_ASSIGN_OR_RETURN(const uint64_t wrong,
                      Sweep(plan, {client->rank(), client->world_size()}, free, *device, *ring,
                            prints ? printer->report() : Silence()));
  AD_RETURN_IF_ERROR(ring->Barrier());  // nobody leaves while others still receive
  AD_RETURN_IF_ERROR(printer->status());
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
               remedy.empty() ? "" : "to do: ", remedy.c_str(), remedy.empty() ? "" : "\n");
  return 1;
}
