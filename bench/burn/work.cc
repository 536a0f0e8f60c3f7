#include "work.h"

#include <algorithm>

#include "base/deadline.h"
#include "base/json_quote.h"

namespace autodist::burn {
namespace {

constexpr double kShortest = 1e-9;  // seconds

Rate RateOf(const Work& work, const std::vector<Piece>& pieces) {
  Piece all;
  std::vector<double> rates;
  for (const Piece& piece : pieces) {
    all.amount += piece.amount;
    all.time += piece.time;
    rates.push_back(piece.amount / std::max(piece.time.count(), kShortest));
  }
  std::ranges::sort(rates);
  return {work.kind, work.disturbed ? rates[rates.size() * 99 / 100]
                                    : all.amount / std::max(all.time.count(), kShortest)};
}

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kMatrix:
      return "BURN_WORK_MATRIX";
    case Kind::kArithmetic:
      return "BURN_WORK_ARITHMETIC";
    case Kind::kMemory:
      return "BURN_WORK_MEMORY";
    case Kind::kHostMemory:
      return "BURN_WORK_HOST_MEMORY";
    case Kind::kToDevice:
      return "BURN_WORK_TO_DEVICE";
    case Kind::kFromDevice:
      break;
  }
  return "BURN_WORK_FROM_DEVICE";
}

}  // namespace

std::string AsJson(const std::string& device, const Measured& measured) {
  std::string json = "{\"device\":" + base::JsonQuoted(device) + ",\"rates\":[";
  for (const Rate& rate : measured.rates) {
    json += std::string(json.ends_with('[') ? "" : ",") + "{\"work\":\"" + NameOf(rate.kind) +
            "\",\"rate\":" + std::to_string(rate.rate) + "}";
  }
  return json + "],\"wrong\":\"" + std::to_string(measured.wrong) +
         "\",\"stopped\":" + std::to_string(measured.stopped) + "}";
}

Result<Measured> Burn(const std::vector<Work>& works, std::chrono::milliseconds time) {
  const base::Deadline deadline = base::Deadline::After(time);
  Measured result;
  std::vector<std::vector<Piece>> pieces(works.size());
  // The first turn wakes the device up.
  for (int turn = 0; turn < 2 || !deadline.Expired(); ++turn) {
    for (size_t i = 0; i < works.size(); ++i) {
      AD_ASSIGN_OR_RETURN(const Piece piece, works[i].run());
      result.wrong += piece.wrong;
      if (turn > 0) pieces[i].push_back(piece);
    }
  }
  for (size_t i = 0; i < works.size(); ++i) {
    result.rates.push_back(RateOf(works[i], pieces[i]));
  }
  return result;
}

}  // namespace autodist::burn
