// Trains a small network on handwritten digits, data-parallel: each rank computes the gradients of
// its part of every batch, the ring adds them up, and all ranks take the same step.
//
//   autodist run --spec cluster.yaml -- train_digits [--epochs N] [--batch N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "autodist/client.h"
#include "autodist/communicator.h"
#include "network.h"

namespace train_digits {
namespace {

using autodist::Client;
using autodist::Communicator;
using autodist::DataType;
using autodist::ReduceOp;
using autodist::Result;
using autodist::Status;

struct Options {
  std::string data = TRAIN_DIGITS_DATA;
  uint32_t epochs = 20;
  uint32_t batch = 96;  // summed over all ranks
  float learning_rate = 0.1f;
  float momentum = 0.9f;
};

Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--data") {
      options.data = value;
    } else if (name == "--epochs" && std::atoi(value) > 0) {
      options.epochs = static_cast<uint32_t>(std::atoi(value));
    } else if (name == "--batch" && std::atoi(value) > 0) {
      options.batch = static_cast<uint32_t>(std::atoi(value));
    } else {
      return autodist::Error(autodist::StatusCode::kInvalidArgument,
                             "usage: train_digits [--data FILE] [--epochs N] [--batch N]");
    }
  }
  return options;
}

// FNV-1a, as a fingerprint of the weights.
uint64_t Checksum(const std::vector<float>& values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (bits >> shift & 0xFF)) * 0x100000001b3u;
  }
  return hash;
}

// This rank's share of the samples [begin, end) of the shuffled order.
std::vector<uint32_t> ShareOf(const Client& client, const std::vector<uint32_t>& order,
                              size_t begin, size_t end) {
  const auto at = [&](size_t rank) {
    return order.begin() + static_cast<long>(begin + (end - begin) * rank / client.world_size());
  };
  return {at(client.rank()), at(client.rank() + 1)};
}

// `steps`: the number of steps so far, over all epochs.
Result<float> TrainEpoch(const Options& options, const std::vector<uint32_t>& order,
                         const Client& client, Communicator& ring, Network& network,
                         uint64_t& steps) {
  const uint64_t steps_of_all = (order.size() + options.batch - 1) / options.batch * options.epochs;
  float loss = 0;
  for (size_t begin = 0; begin < order.size(); begin += options.batch) {
    const size_t end = std::min(begin + options.batch, order.size());
    AD_RETURN_IF_ERROR(network.ComputeGradients(ShareOf(client, order, begin, end)));
    AD_RETURN_IF_ERROR(
        ring.AllReduce(network.gradients(), kGradients, DataType::kFloat32, ReduceOp::kSum));
    AD_RETURN_IF_ERROR(
        network.Step(static_cast<float>(end - begin), options.learning_rate, options.momentum));
    AD_ASSIGN_OR_RETURN(const float batch_loss, network.Loss());
    loss += batch_loss;
    AD_RETURN_IF_ERROR(autodist::ReportProgress(
        ++steps, steps_of_all,
        {{"loss", static_cast<double>(batch_loss) / static_cast<double>(end - begin)}}));
  }
  return loss / static_cast<float>(order.size());
}

Result<std::unique_ptr<Network>> MakeNetwork(const Client& client, const Samples& training) {
  if (!client.on_gpu()) return MakeCpuNetwork(training);
  return MakeCudaNetwork(training, static_cast<int>(client.local_rank()));
}

// All ranks must have ended with the same weights.
Status CompareChecksums(Client& client, uint64_t checksum) {
  const std::string mine = std::to_string(checksum);
  AD_RETURN_IF_ERROR(client.Set("checksum/" + std::to_string(client.rank()), mine));
  for (uint32_t rank = 0; rank < client.world_size(); ++rank) {
    AD_ASSIGN_OR_RETURN(const std::string theirs, client.Get("checksum/" + std::to_string(rank)));
    if (theirs != mine) {
      return autodist::Error(autodist::StatusCode::kDataLoss,
                             "the weights of rank " + std::to_string(rank) + " differ from mine");
    }
  }
  return autodist::OkStatus();
}

Status Train(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  AD_ASSIGN_OR_RETURN(const Digits digits, ReadDigits(options.data));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect());
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                      MakeNetwork(*client, digits.training));
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> ring,
                      client->on_gpu() ? autodist::MakeNcclCommunicator(*client)
                                       : autodist::MakeGlooCommunicator(*client));

  AD_RETURN_IF_ERROR(network->SetParameters(InitialParameters()));
  AD_RETURN_IF_ERROR(
      ring->Broadcast(network->parameters(), kParameters, DataType::kFloat32, /*root=*/0));

  std::vector<uint32_t> order(digits.training.count());
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(11);  // the same order on every rank
  uint64_t steps = 0;
  for (uint32_t epoch = 1; epoch <= options.epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    AD_ASSIGN_OR_RETURN(const float loss,
                        TrainEpoch(options, order, *client, *ring, *network, steps));
    if (client->rank() != 0) continue;
    AD_ASSIGN_OR_RETURN(const std::vector<float> parameters, network->Parameters());
    const double accuracy = static_cast<double>(CountCorrect(parameters, digits.test)) /
                            static_cast<double>(digits.test.count());
    std::printf("epoch %2u  loss %.6f  test accuracy %.2f %%\n", epoch, static_cast<double>(loss),
                100 * accuracy);
    std::fflush(stdout);
  }
  AD_ASSIGN_OR_RETURN(const std::vector<float> parameters, network->Parameters());
  const uint64_t checksum = Checksum(parameters);
  std::printf("rank %u of %u on %s: weights %016llx after %.2f s\n", client->rank(),
              client->world_size(), client->on_gpu() ? "GPU" : "CPU",
              static_cast<unsigned long long>(checksum),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return CompareChecksums(*client, checksum);
}

}  // namespace
}  // namespace train_digits

int main(int argc, char** argv) {
  const auto options = train_digits::ParseOptions(argc, argv);
  const autodist::Status status = options.ok() ? train_digits::Train(*options) : options.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "train_digits: %s\n", autodist::Message(status).c_str());
  return options.ok() ? 1 : 2;
}
