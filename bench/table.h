// What was measured: as a table on stdout for the user, and in a CSV file for programs.
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
  double seconds;  // of one call, on the slowest rank
  Bandwidth bandwidth;
  uint64_t wrong;  // numbers, over all ranks
};

struct Row {
  v1::Collective collective;
  Size size;
  Measurement out_of_place;
  std::optional<Measurement> in_place;  // not of every operation
};

class Printer {
 public:
  // One that is not `wanted`, because another rank prints, does nothing. `csv_file`: "" for none.
  Printer(bool wanted, const std::string& csv_file);

  void Begin(v1::Collective collective);
  void Add(const Row& row);
  // Sizes from this one on need more memory than `free` bytes, which every rank may take.
  void TooLarge(Size size, uint64_t free) const;

  // Whether all of it is where it should be.
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
