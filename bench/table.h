// Prints the measurements: a table on stdout for the user, and a CSV file for programs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/bench.pb.h"
#include "bandwidth.h"

namespace autodist::bench {

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

}  // namespace autodist::bench
