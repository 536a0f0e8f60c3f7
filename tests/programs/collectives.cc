// Checks the result of every collective operation; run by `autodist run` with any number of ranks.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "autodist/communicator.h"

namespace {

using autodist::Client;
using autodist::Communicator;
using autodist::DataType;
using autodist::ReduceOp;
using autodist::Status;

Status Expect(bool right, const std::string& what) {
  return right ? autodist::OkStatus()
               : autodist::Error(autodist::StatusCode::kInternal, "wrong result of " + what);
}

// The value of rank r at position i.
template <typename T>
T ValueOf(uint32_t rank, size_t i) {
  return static_cast<T>(rank + i % 10 + 1);
}

template <typename T>
T Reduced(ReduceOp op, uint32_t size, size_t i) {
  T result = ValueOf<T>(0, i);
  for (uint32_t rank = 1; rank < size; ++rank) {
    const T other = ValueOf<T>(rank, i);
    if (op == ReduceOp::kSum) result = static_cast<T>(result + other);
    if (op == ReduceOp::kProduct) result = static_cast<T>(result * other);
    if (op == ReduceOp::kMin) result = std::min(result, other);
    if (op == ReduceOp::kMax) result = std::max(result, other);
  }
  return result;
}

// Requires get(i) == expected(i) for all i < count.
template <typename Get, typename Expected>
Status ExpectAll(size_t count, Get get, Expected expected, const std::string& what) {
  for (size_t i = 0; i < count; ++i) AD_RETURN_IF_ERROR(Expect(get(i) == expected(i), what));
  return autodist::OkStatus();
}

// Checks one type and count: each operation out of place and, if supported, in place.
template <typename T>
class Checks {
 public:
  Checks(const Client& client, Communicator& ring, DataType type, size_t count)
      : rank_(client.rank()), size_(client.world_size()), ring_(ring), type_(type), count_(count) {}

  Status AllReduce(ReduceOp op) {
    const auto sum = [&](size_t i) { return Reduced<T>(op, size_, i); };
    std::vector<T> in = Mine(count_);
    std::vector<T> out(count_);
    AD_RETURN_IF_ERROR(ring_.AllReduce(in.data(), out.data(), count_, type_, op));
    AD_RETURN_IF_ERROR(ExpectAll(count_, At(out), sum, "all-reduce"));
    AD_RETURN_IF_ERROR(ring_.AllReduce(in.data(), count_, type_, op));
    return ExpectAll(count_, At(in), sum, "all-reduce in place");
  }

  Status Broadcast(uint32_t root) {
    const auto roots = [&](size_t i) { return ValueOf<T>(root, i); };
    std::vector<T> in = Mine(count_);
    std::vector<T> out(count_);
    AD_RETURN_IF_ERROR(ring_.Broadcast(in.data(), out.data(), count_, type_, root));
    AD_RETURN_IF_ERROR(ExpectAll(count_, At(out), roots, "broadcast"));
    AD_RETURN_IF_ERROR(ring_.Broadcast(in.data(), count_, type_, root));
    return ExpectAll(count_, At(in), roots, "broadcast in place");
  }

  Status AllGather() {
    const auto gathered = [&](size_t i) { return ValueOf<T>(Owner(i), i % count_); };
    const std::vector<T> in = Mine(count_);
    std::vector<T> out(count_ * size_);
    AD_RETURN_IF_ERROR(ring_.AllGather(in.data(), out.data(), count_, type_));
    AD_RETURN_IF_ERROR(ExpectAll(out.size(), At(out), gathered, "all-gather"));
    std::vector<T> all(count_ * size_);
    std::ranges::copy(in, Part(all));
    AD_RETURN_IF_ERROR(ring_.AllGather(Part(all), all.data(), count_, type_));
    return ExpectAll(all.size(), At(all), gathered, "all-gather in place");
  }

  Status ReduceScatter() {
    const auto sum = [&](size_t i) {
      return Reduced<T>(ReduceOp::kSum, size_, rank_ * count_ + i);
    };
    std::vector<T> in = Mine(count_ * size_);
    std::vector<T> out(count_);
    AD_RETURN_IF_ERROR(ring_.ReduceScatter(in.data(), out.data(), count_, type_, ReduceOp::kSum));
    AD_RETURN_IF_ERROR(ExpectAll(count_, At(out), sum, "reduce-scatter"));
    AD_RETURN_IF_ERROR(ring_.ReduceScatter(in.data(), Part(in), count_, type_, ReduceOp::kSum));
    const auto part = [&](size_t i) { return Part(in)[i]; };
    return ExpectAll(count_, part, sum, "reduce-scatter in place");
  }

  Status AllToAll() {
    const std::vector<T> in = Mine(count_ * size_);
    std::vector<T> out(count_ * size_);
    AD_RETURN_IF_ERROR(ring_.AllToAll(in.data(), out.data(), count_, type_));
    const auto theirs = [&](size_t i) { return ValueOf<T>(Owner(i), rank_ * count_ + i % count_); };
    return ExpectAll(out.size(), At(out), theirs, "all-to-all");
  }

  Status SendReceive() {
    const uint32_t next = (rank_ + 1) % size_;
    const uint32_t before = (rank_ + size_ - 1) % size_;
    const std::vector<T> in = Mine(count_);
    std::vector<T> out(count_);
    AD_RETURN_IF_ERROR(ring_.SendReceive(in.data(), next, out.data(), before, count_, type_));
    const auto theirs = [&](size_t i) { return ValueOf<T>(before, i); };
    return ExpectAll(count_, At(out), theirs, "send and receive");
  }

 private:
  std::vector<T> Mine(size_t count) const {
    std::vector<T> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = ValueOf<T>(rank_, i);
    return numbers;
  }
  static auto At(const std::vector<T>& numbers) {
    return [&numbers](size_t i) { return numbers[i]; };
  }
  // This rank's part of the parts of all ranks.
  T* Part(std::vector<T>& all) const { return all.data() + rank_ * count_; }
  uint32_t Owner(size_t i) const { return static_cast<uint32_t>(i / count_); }

  const uint32_t rank_;
  const uint32_t size_;
  Communicator& ring_;
  const DataType type_;
  const size_t count_;
};

template <typename T>
Status CheckType(const Client& client, Communicator& ring, DataType type, size_t count) {
  Checks<T> checks(client, ring, type, count);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax}) {
    AD_RETURN_IF_ERROR(checks.AllReduce(op));
  }
  for (uint32_t root = 0; root < client.world_size(); ++root) {
    AD_RETURN_IF_ERROR(checks.Broadcast(root));
  }
  AD_RETURN_IF_ERROR(checks.AllGather());
  AD_RETURN_IF_ERROR(checks.ReduceScatter());
  AD_RETURN_IF_ERROR(checks.AllToAll());
  AD_RETURN_IF_ERROR(checks.SendReceive());
  AD_RETURN_IF_ERROR(ring.Wait(std::chrono::milliseconds(0)));  // everything is complete already
  return ring.Barrier();
}

Status Check() {
  AD_ASSIGN_OR_RETURN(const auto client, Client::Connect());
  AD_ASSIGN_OR_RETURN(const auto ring, autodist::MakeGlooCommunicator(*client));
  for (const size_t count : {size_t{1}, size_t{7}, size_t{1000}, size_t{100'003}}) {
    AD_RETURN_IF_ERROR(CheckType<float>(*client, *ring, DataType::kFloat32, count));
    AD_RETURN_IF_ERROR(CheckType<double>(*client, *ring, DataType::kFloat64, count));
    AD_RETURN_IF_ERROR(CheckType<int32_t>(*client, *ring, DataType::kInt32, count));
    AD_RETURN_IF_ERROR(CheckType<int64_t>(*client, *ring, DataType::kInt64, count));
  }
  // Large enough for several pieces, or for the ring algorithm.
  AD_RETURN_IF_ERROR(
      Checks<float>(*client, *ring, DataType::kFloat32, 3'000'001).AllReduce(ReduceOp::kSum));
  AD_RETURN_IF_ERROR(ring->AllReduce(nullptr, 0, DataType::kFloat32, ReduceOp::kSum));
  char half[2] = {};
  AD_RETURN_IF_ERROR(
      Expect(!ring->AllReduce(half, 1, DataType::kFloat16, ReduceOp::kSum).ok(), "16-bit numbers"));
  return client->Barrier("end");
}

}  // namespace

int main() {
  const Status status = Check();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", autodist::Message(status).c_str());
    return 1;
  }
  std::printf("all collectives are right\n");
  return 0;
}
