#include "exchange.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "operation.h"

namespace autodist::bench {
namespace {

constexpr size_t kFew = 5;  // two rounds do not show which one of so few is slow

void Pair(uint32_t one, uint32_t other, Partners& partners) {
  partners[one] = other;
  partners[other] = one;
}

// The circle method of tournaments: one node stays, the others turn around it; an odd number gets a
// node that does not exist, as the one that stays.
Partners Tournament(size_t round, size_t nodes) {
  const size_t turning = nodes % 2 == 0 ? nodes - 1 : nodes;
  Partners partners(nodes);
  if (turning < nodes) Pair(static_cast<uint32_t>(round), static_cast<uint32_t>(turning), partners);
  for (size_t k = 1; k <= turning / 2; ++k) {
    Pair(static_cast<uint32_t>((round + k) % turning),
         static_cast<uint32_t>((round + turning - k) % turning), partners);
  }
  return partners;
}

Partners Neighbours(size_t nodes) {
  Partners partners(nodes);
  for (uint32_t node = 0; node + 1 < nodes; node += 2) Pair(node, node + 1, partners);
  return partners;
}

Partners SlowWithFast(const std::vector<double>& rates) {
  std::vector<uint32_t> order(rates.size());
  std::iota(order.begin(), order.end(), 0);
  // Keeps the nodes of a pair together.
  std::ranges::stable_sort(order, {}, [&](uint32_t node) { return rates[node]; });
  Partners partners(rates.size());
  const size_t half = rates.size() / 2;
  for (size_t i = 0; i < half; ++i) Pair(order[i], order[i + half], partners);
  return partners;
}

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Where a rank runs.
struct Seat {
  uint32_t node;
  uint32_t local_rank;

  bool operator<(const Seat& other) const {
    return std::tie(node, local_rank) < std::tie(other.node, other.local_rank);
  }
};

// Ranks that pass data around.
struct Circle {
  uint32_t next;
  uint32_t previous;
  uint32_t ranks;
};

uint32_t NodeRank() {
  const char* text = std::getenv("AUTODIST_NODE_RANK");
  return text ? static_cast<uint32_t>(std::atoi(text)) : 0;
}

class Exchanger {
 public:
  Exchanger(milliseconds time, uint64_t max_bytes, const Client& client, Device& device,
            Communicator& ring, Device::Buffer& words)
      : time_(time),
        max_count_(max_bytes / 2 / sizeof(float)),
        client_(client),
        device_(device),
        ring_(ring),
        words_(words) {}

  static uint64_t WordsNeeded(uint32_t world_size) { return 1 + uint64_t{world_size}; }

  Result<v1::ExchangeResult> Run() {
    AD_RETURN_IF_ERROR(FindSeats());
    if (client_.on_gpu()) AD_RETURN_IF_ERROR(WithinNode());
    std::vector<double> rates(nodes_);
    for (size_t round = 0; round < RoundsOf(nodes_); ++round) {
      AD_ASSIGN_OR_RETURN(rates, BetweenNodes(PartnersIn(round, rates)));
    }
    return result_;
  }

 private:
  Status FindSeats() {
    AD_ASSIGN_OR_RETURN(const auto nodes, OfAllRanks(static_cast<float>(NodeRank())));
    AD_ASSIGN_OR_RETURN(const auto local, OfAllRanks(static_cast<float>(client_.local_rank())));
    for (uint32_t rank = 0; rank < client_.world_size(); ++rank) {
      const Seat seat{static_cast<uint32_t>(nodes[rank]), static_cast<uint32_t>(local[rank])};
      ranks_[seat] = rank;
      seats_.push_back(seat);
      nodes_ = std::max(nodes_, seat.node + 1);
    }
    const auto rounds = static_cast<milliseconds::rep>(RoundsOf(nodes_)) + client_.on_gpu();
    round_ = time_ / std::max(rounds, milliseconds::rep{1});
    return OkStatus();
  }

  // Returns a value of each rank.
  Result<std::vector<float>> OfAllRanks(float mine) {
    std::vector<float> all(client_.world_size());
    AD_RETURN_IF_ERROR(words_.Write(0, {&mine, 1}));
    AD_RETURN_IF_ERROR(ring_.AllGather(words_.data(), words_.data() + 1, 1, DataType::kFloat32));
    AD_RETURN_IF_ERROR(ring_.Wait(kPeerLimit));
    AD_RETURN_IF_ERROR(words_.Read(1, all));
    return all;
  }

  Status WithinNode() {
    const Seat here = seats_[client_.rank()];
    uint32_t devices = 0;
    while (ranks_.contains({here.node, devices})) ++devices;
    if (devices > 1) {
      const uint32_t next = (here.local_rank + 1) % devices;
      const uint32_t previous = (here.local_rank + devices - 1) % devices;
      const Circle circle{ranks_[{here.node, next}], ranks_[{here.node, previous}], devices};
      AD_ASSIGN_OR_RETURN(*result_.mutable_between_devices(), RateOf(circle));
    }
    return ring_.Barrier();
  }

  // Returns the rates of the nodes.
  Result<std::vector<double>> BetweenNodes(const Partners& partners) {
    const Seat here = seats_[client_.rank()];
    const auto partner = partners[here.node];
    const auto rank = partner ? ranks_.find({*partner, here.local_rank}) : ranks_.end();
    float mine = 0;
    if (rank != ranks_.end()) {
      AD_ASSIGN_OR_RETURN(v1::ExchangeRate rate, RateOf({rank->second, rank->second, 2}));
      rate.set_partner(*partner);
      mine = static_cast<float>(rate.rate());
      *result_.add_pairs() = std::move(rate);
    }
    AD_ASSIGN_OR_RETURN(const std::vector<float> all, OfAllRanks(mine));
    std::vector<double> rates(nodes_);
    for (uint32_t i = 0; i < all.size(); ++i) rates[seats_[i].node] += all[i];
    std::vector<double> of_pairs = rates;
    for (uint32_t node = 0; node < nodes_; ++node) {
      if (partners[node]) of_pairs[node] = std::min(rates[node], rates[*partners[node]]);
    }
    return of_pairs;
  }

  // Exchanges ever larger pieces until one takes long enough, and then such pieces for the rest of
  // the round.
  Result<v1::ExchangeRate> RateOf(Circle circle) {
    constexpr uint64_t kFirst = 16 << 10;  // numbers
    constexpr uint64_t kMost = 16 << 20;
    constexpr uint64_t kGrowth = 4;
    constexpr double kLongEnough = 0.01;  // seconds
    constexpr int kTries = 3;             // a delayed piece looks like a slow one
    const auto begin = Clock::now();
    for (uint64_t count = std::min(kFirst, max_count_);; count *= kGrowth) {
      AD_ASSIGN_OR_RETURN(Operation operation, OperationOf(circle, count));
      AD_RETURN_IF_ERROR(TimeOf(operation, circle).status());  // may connect
      double shortest = kLongEnough;
      for (int i = 0; i < kTries; ++i) {
        AD_ASSIGN_OR_RETURN(const double seconds, TimeOf(operation, circle));
        shortest = std::min(shortest, seconds);
      }
      if (shortest < kLongEnough && count * kGrowth <= std::min(kMost, max_count_)) continue;
      return RateUntil(begin + round_, operation, circle, count * sizeof(float));
    }
  }

  Result<v1::ExchangeRate> RateUntil(Clock::time_point end, Operation& operation, Circle circle,
                                     size_t bytes) {
    double exchanged = 0;
    double seconds = 0;
    for (double left = 1; left > 0;) {
      AD_ASSIGN_OR_RETURN(const double one, TimeOf(operation, circle));
      exchanged += static_cast<double>(bytes);
      seconds += one;
      const std::chrono::duration<double> mine = end - Clock::now();
      AD_ASSIGN_OR_RETURN(left, Most(mine.count(), circle));
    }
    v1::ExchangeRate rate;
    rate.set_rate(exchanged / seconds);
    AD_ASSIGN_OR_RETURN(const uint64_t wrong, operation.CountWrong());
    rate.set_wrong(wrong);
    return rate;
  }

  Result<Operation> OperationOf(Circle circle, uint64_t count) {
    const Place place{client_.rank(), client_.world_size(), circle.next, circle.previous};
    const Size size{count * sizeof(float), count};
    AD_ASSIGN_OR_RETURN(Operation operation, Operation::Make(v1::COLLECTIVE_SEND_RECV, size,
                                                             Output::kOutOfPlace, place, device_));
    AD_RETURN_IF_ERROR(operation.Fill());
    return operation;
  }

  // Returns the seconds of a piece, on the slowest rank of the circle.
  Result<double> TimeOf(Operation& operation, Circle circle) {
    const auto begin = Clock::now();
    AD_RETURN_IF_ERROR(operation.Run(ring_));
    AD_RETURN_IF_ERROR(ring_.Wait(kPeerLimit));
    const std::chrono::duration<double> took = Clock::now() - begin;
    return Most(took.count(), circle);
  }

  // Returns the same value on every rank of the circle.
  Result<double> Most(double seconds, Circle circle) {
    auto mine = static_cast<float>(seconds);
    for (uint32_t i = 1; i < circle.ranks; ++i) {
      float received = 0;
      AD_RETURN_IF_ERROR(words_.Write(0, {&mine, 1}));
      AD_RETURN_IF_ERROR(ring_.SendReceive(words_.data(), circle.next, words_.data() + 1,
                                           circle.previous, 1, DataType::kFloat32));
      AD_RETURN_IF_ERROR(ring_.Wait(kPeerLimit));
      AD_RETURN_IF_ERROR(words_.Read(1, {&received, 1}));
      mine = std::max(mine, received);
    }
    return double{mine};
  }

  static constexpr std::chrono::minutes kPeerLimit{1};

  const milliseconds time_;
  const uint64_t max_count_;  // numbers in each direction
  const Client& client_;
  Device& device_;
  Communicator& ring_;
  Device::Buffer& words_;
  std::vector<Seat> seats_;  // by rank
  std::map<Seat, uint32_t> ranks_;
  uint32_t nodes_ = 0;
  milliseconds round_{0};
  v1::ExchangeResult result_;
};

}  // namespace

size_t RoundsOf(size_t nodes) {
  if (nodes < 2) return 0;
  if (nodes > kFew) return 2;
  return nodes % 2 == 0 ? nodes - 1 : nodes;
}

Partners PartnersIn(size_t round, const std::vector<double>& rates) {
  if (rates.size() <= kFew) return Tournament(round, rates.size());
  return round == 0 ? Neighbours(rates.size()) : SlowWithFast(rates);
}

Result<v1::ExchangeResult> Exchange(milliseconds time, uint64_t max_bytes, const Client& client,
                                    Device& device, Communicator& ring) {
  AD_ASSIGN_OR_RETURN(const auto words,
                      device.Allocate(Exchanger::WordsNeeded(client.world_size())));
  return Exchanger(time, max_bytes, client, device, ring, *words).Run();
}

}  // namespace autodist::bench
