// Checks every collective operation against what it must give; run by `autodist run` with any
// number of ranks.
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

// What rank r holds at position i.
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

template <typename T>
Status CheckAllReduce(const Client& client, Communicator& ring, DataType type, size_t count,
                      ReduceOp op) {
  std::vector<T> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = ValueOf<T>(client.rank(), i);
  AD_RETURN_IF_ERROR(ring.AllReduce(data.data(), count, type, op));
  for (size_t i = 0; i < count; ++i) {
    AD_RETURN_IF_ERROR(Expect(data[i] == Reduced<T>(op, client.world_size(), i), "all-reduce"));
  }
  return autodist::OkStatus();
}

template <typename T>
Status CheckType(const Client& client, Communicator& ring, DataType type, size_t count) {
  const uint32_t size = client.world_size();
  const uint32_t rank = client.rank();
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax}) {
    AD_RETURN_IF_ERROR(CheckAllReduce<T>(client, ring, type, count, op));
  }

  std::vector<T> mine(count);
  for (size_t i = 0; i < count; ++i) mine[i] = ValueOf<T>(rank, i);
  for (uint32_t root = 0; root < size; ++root) {
    std::vector<T> data = mine;
    AD_RETURN_IF_ERROR(ring.Broadcast(data.data(), count, type, root));
    for (size_t i = 0; i < count; ++i) {
      AD_RETURN_IF_ERROR(Expect(data[i] == ValueOf<T>(root, i), "broadcast"));
    }
  }

  std::vector<T> all(count * size);
  AD_RETURN_IF_ERROR(ring.AllGather(mine.data(), all.data(), count, type));
  for (size_t i = 0; i < all.size(); ++i) {
    AD_RETURN_IF_ERROR(
        Expect(all[i] == ValueOf<T>(static_cast<uint32_t>(i / count), i % count), "all-gather"));
  }

  // all[r * count + i] of rank q is ValueOf(q, r * count + i).
  for (size_t i = 0; i < all.size(); ++i) all[i] = ValueOf<T>(rank, i);
  std::vector<T> part(count);
  AD_RETURN_IF_ERROR(ring.ReduceScatter(all.data(), part.data(), count, type, ReduceOp::kSum));
  for (size_t i = 0; i < count; ++i) {
    AD_RETURN_IF_ERROR(
        Expect(part[i] == Reduced<T>(ReduceOp::kSum, size, rank * count + i), "reduce-scatter"));
  }
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
  // In several pieces, or around the ring.
  AD_RETURN_IF_ERROR(
      CheckAllReduce<float>(*client, *ring, DataType::kFloat32, 3'000'001, ReduceOp::kSum));
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
