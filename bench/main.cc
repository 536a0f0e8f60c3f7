// autodist-bench PLAN: measures the collective operations between the ranks of a job, or exchanges
// between pairs of nodes. Started by `autodist bench`, which shows the output of rank 0, and by
// `autodist doctor --burn`.
#include <absl/strings/ascii.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "autodist/client.h"
#include "autodist/communicator.h"
#include "autodist/status.h"
#include "autodist/v1/bench.pb.h"
#include "device.h"
#include "exchange.h"
#include "json/proto_json.h"
#include "operation.h"

namespace autodist::bench {
namespace {

struct Measurement {
  double seconds;  // per call, on the slowest rank
  Bandwidth bandwidth;
  uint64_t wrong;  // number of wrong numbers, over all ranks
};

struct Row {
  v1::Collective collective;
  Size size;
  Measurement out_of_place;
  std::optional<Measurement> in_place;  // if the operation supports it
};

// Prints the measurements: a table on stdout for the user, and a CSV file for programs.
class Printer {
 public:
  // Does nothing unless `wanted`, because only one rank prints. `csv_file`: "" for none.
  Printer(bool wanted, const std::string& csv_file);

  void Begin(v1::Collective collective);
  void Add(const Row& row);
  // Reports that sizes from this one on need more memory than `free` bytes, the limit of every
  // rank.
  void TooLarge(Size size, uint64_t free) const;

  // Whether all output has been written.
  const Status& status() const { return status_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void Print(const std::string& text, std::FILE* file);

  const bool wanted_;
  bool begun_ = false;
  Status status_;
  std::unique_ptr<std::FILE, Close> csv_;
};

// Returns "all-reduce".
std::string NameOf(v1::Collective collective) {
  // "COLLECTIVE_ALL_REDUCE" → "all-reduce".
  const std::string name = v1::Collective_Name(collective).substr(sizeof "COLLECTIVE_" - 1);
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

// Returns the head above the rows of an operation; with nccl-tests' names.
std::string TableHead(v1::Collective collective) {
  constexpr char kNames[] = "       time     algbw     busbw #wrong";
  constexpr char kUnits[] = "       (us)    (GB/s)    (GB/s)       ";
  const std::string units = absl::StrFormat("%12s %12s%s%s", "(bytes)", "(floats)", kUnits, kUnits);
  return absl::StrFormat("%-26s %25s %37s\n", NameOf(collective), "out of place", "in place") +
         absl::StrFormat("%12s %12s%s%s\n", "size", "count", kNames, kNames) +
         std::string(absl::StripTrailingAsciiWhitespace(units)) + "\n";
}

std::string Columns(const Measurement& measured) {
  return absl::StrFormat(" %10.1f %9.3f %9.3f %6d", measured.seconds * 1e6,
                         measured.bandwidth.algorithm, measured.bandwidth.bus, measured.wrong);
}

std::string TableRow(const Row& row) {
  const std::string none = absl::StrFormat(" %10s %9s %9s %6s", "-", "-", "-", "-");
  return absl::StrFormat("%12d %12d", row.size.bytes, row.size.count) + Columns(row.out_of_place) +
         (row.in_place ? Columns(*row.in_place) : none) + "\n";
}

constexpr char kCsvHead[] =
    "collective,bytes,count,time_us,algbw_GBps,busbw_GBps,wrong,"
    "in_place_time_us,in_place_algbw_GBps,in_place_busbw_GBps,in_place_wrong\n";

std::string CsvColumns(const Measurement& measured) {
  return absl::StrFormat(",%.3f,%.6f,%.6f,%d", measured.seconds * 1e6, measured.bandwidth.algorithm,
                         measured.bandwidth.bus, measured.wrong);
}

std::string CsvRow(const Row& row) {
  return absl::StrFormat("%s,%d,%d", NameOf(row.collective), row.size.bytes, row.size.count) +
         CsvColumns(row.out_of_place) + (row.in_place ? CsvColumns(*row.in_place) : ",,,,") + "\n";
}

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kPeerLimit{5};  // for late peers

class Sweeper {
 public:
  Sweeper(const v1::BenchPlan& plan, Place place, Device& device, Communicator& ring,
          Device::Buffer& word)
      : plan_(plan), place_(place), device_(device), ring_(ring), word_(word) {}

  Result<Row> Measure(v1::Collective collective, Size size) {
    Row row{collective, size, {}, {}};
    AD_ASSIGN_OR_RETURN(row.out_of_place, Measure(collective, size, Output::kOutOfPlace));
    if (WorksInPlace(collective)) {
      AD_ASSIGN_OR_RETURN(row.in_place, Measure(collective, size, Output::kInPlace));
    }
    return row;
  }

  // Returns the same value on every rank.
  Result<float> OverRanks(float mine, ReduceOp op) {
    AD_RETURN_IF_ERROR(word_.Write(0, {&mine, 1}));
    AD_RETURN_IF_ERROR(ring_.AllReduce(word_.data(), 1, DataType::kFloat32, op));
    AD_RETURN_IF_ERROR(ring_.Wait(QueueLimit()));
    AD_RETURN_IF_ERROR(word_.Read(0, {&mine, 1}));
    return mine;
  }

 private:
  Result<Measurement> Measure(v1::Collective collective, Size size, Output output) {
    AD_ASSIGN_OR_RETURN(Operation operation,
                        Operation::Make(collective, size, output, place_, device_));
    AD_RETURN_IF_ERROR(operation.Fill());
    AD_ASSIGN_OR_RETURN(double seconds, TimeOf(operation, 1));
    AD_ASSIGN_OR_RETURN(const uint64_t mine, operation.CountWrong());
    AD_ASSIGN_OR_RETURN(const double wrong, OverRanks(static_cast<float>(mine), ReduceOp::kSum));
    if (const uint32_t warmup = Affordable(seconds, plan_.warmup()); warmup > 0) {
      AD_ASSIGN_OR_RETURN(seconds, TimeOf(operation, warmup));
    }
    const uint32_t iterations = std::max(Affordable(seconds, plan_.iterations()), 1u);
    AD_ASSIGN_OR_RETURN(seconds, TimeOf(operation, iterations));
    return Measurement{seconds, BandwidthOf(collective, size.bytes, seconds, place_.world_size),
                       static_cast<uint64_t>(wrong)};
  }

  // Returns the seconds per call for `times` calls that all ranks begin together, on the slowest
  // rank. The calls are queued, if the ring can do that, and then waited for.
  Result<float> TimeOf(Operation& operation, uint32_t times) {
    AD_RETURN_IF_ERROR(ring_.Barrier());
    const auto start = Clock::now();
    for (uint32_t i = 0; i < times; ++i) AD_RETURN_IF_ERROR(operation.Run(ring_));
    AD_RETURN_IF_ERROR(ring_.Wait(QueueLimit()));
    const std::chrono::duration<float> took = Clock::now() - start;
    return OverRanks(took.count() / static_cast<float>(times), ReduceOp::kMax);
  }

  // The time to complete all queued calls, which may be slower than the first ones.
  std::chrono::milliseconds QueueLimit() const {
    constexpr int kSlower = 10;
    return kPeerLimit + kSlower * std::chrono::milliseconds(plan_.budget_ms());
  }

  // Returns how many of `most` calls fit into the time for a size.
  uint32_t Affordable(double seconds, uint32_t most) const {
    const double calls = plan_.budget_ms() / 1e3 / seconds;
    return calls < most ? static_cast<uint32_t>(calls) : most;
  }

  const v1::BenchPlan& plan_;
  const Place place_;
  Device& device_;
  Communicator& ring_;
  Device::Buffer& word_;  // one number
};

Printer::Printer(bool wanted, const std::string& csv_file) : wanted_(wanted) {
  if (!wanted || csv_file.empty()) return;
  csv_.reset(std::fopen(csv_file.c_str(), "w"));
  if (csv_) {
    Print(kCsvHead, csv_.get());
  } else {
    status_ = ErrnoError(errno, csv_file);
  }
}

void Printer::Print(const std::string& text, std::FILE* file) {
  if (std::fputs(text.c_str(), file) < 0 || std::fflush(file) != 0) {
    status_ = ErrnoError(errno, "writing the results");
  }
}

void Printer::Begin(v1::Collective collective) {
  if (wanted_) Print((std::exchange(begun_, true) ? "\n" : "") + TableHead(collective), stdout);
}

void Printer::Add(const Row& row) {
  if (wanted_) Print(TableRow(row), stdout);
  if (csv_) Print(CsvRow(row), csv_.get());
}

void Printer::TooLarge(Size size, uint64_t free) const {
  if (!wanted_) return;
  std::fprintf(stderr,
               "%" PRIu64 " bytes and more are left out: there are %" PRIu64
               " bytes of memory for a rank\n",
               size.bytes, free);
}

// Runs all collective operations and sizes of a plan, as one rank of a job. Returns the number of
// wrong numbers, over all ranks and sizes. Blocks until the last size is done.
Result<uint64_t> Sweep(const v1::BenchPlan& plan, Place place, uint64_t free_bytes, Device& device,
                       Communicator& ring, Printer& printer) {
  AD_ASSIGN_OR_RETURN(const auto word, device.Allocate(1));
  Sweeper sweeper(plan, place, device, ring, *word);
  // The conversion rounds, at most in the last bit.
  AD_ASSIGN_OR_RETURN(const float least,
                      sweeper.OverRanks(static_cast<float>(free_bytes), ReduceOp::kMin));
  uint64_t wrong = 0;
  for (const int number : plan.collectives()) {
    const auto collective = static_cast<v1::Collective>(number);
    printer.Begin(collective);
    for (const Size size : SizesOf(plan, collective, place.world_size)) {
      const uint64_t needed = BytesNeeded(collective, size, Output::kOutOfPlace, place.world_size);
      if (static_cast<double>(needed) > least) {
        printer.TooLarge(size, static_cast<uint64_t>(least));
        break;
      }
      AD_ASSIGN_OR_RETURN(const Row row, sweeper.Measure(collective, size));
      wrong += row.out_of_place.wrong + (row.in_place ? row.in_place->wrong : 0);
      printer.Add(row);
    }
  }
  return wrong;
}

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
