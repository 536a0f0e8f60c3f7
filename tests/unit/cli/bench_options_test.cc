#include "cli/bench_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::cli {
namespace {

spec::ResourceSpec SpecOf(const std::vector<std::vector<uint32_t>>& gpus_of_nodes) {
  spec::ResourceSpec spec;
  for (const auto& gpus : gpus_of_nodes) {
    spec::Node& node = spec.nodes.emplace_back();
    node.address = "10.0.0." + std::to_string(spec.nodes.size());
    node.gpus = gpus;
    node.cpus = {0};
  }
  return spec;
}

TEST(BenchOptionsTest, NcclIsForGpusOnAllNodes) {
  EXPECT_EQ(MakeBenchPlan({}, SpecOf({{0, 1}, {0}}))->backend(), v1::BACKEND_NCCL);
  EXPECT_EQ(MakeBenchPlan({}, SpecOf({{0, 1}, {}}))->backend(), v1::BACKEND_GLOO);
  EXPECT_EQ(MakeBenchPlan({}, SpecOf({{}}))->backend(), v1::BACKEND_GLOO);
}

TEST(BenchOptionsTest, TheBackendCanBeChosen) {
  BenchOptions options;
  options.backend = "gloo";
  EXPECT_EQ(MakeBenchPlan(options, SpecOf({{0}}))->backend(), v1::BACKEND_GLOO);
  options.backend = "nccl";
  const auto plan = MakeBenchPlan(options, SpecOf({{0}, {}}));
  EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(plan.status()), testing::HasSubstr("10.0.0.2"));
}

TEST(BenchOptionsTest, TheDefaultIsAllOperations) {
  EXPECT_EQ(MakeBenchPlan({}, SpecOf({{}}))->collectives_size(), 6);
  BenchOptions options;
  options.collectives = {"send-recv", "all-reduce", "send-recv"};
  const auto plan = MakeBenchPlan(options, SpecOf({{}}));
  EXPECT_THAT(plan->collectives(),
              testing::ElementsAre(v1::COLLECTIVE_ALL_REDUCE, v1::COLLECTIVE_SEND_RECV));
}

TEST(BenchOptionsTest, WithoutSizesThereIsAnError) {
  BenchOptions options;
  options.from = 1024;
  options.to = 512;
  EXPECT_EQ(MakeBenchPlan(options, SpecOf({{}})).status().code(), StatusCode::kInvalidArgument);
  options.from = 0;
  EXPECT_EQ(MakeBenchPlan(options, SpecOf({{}})).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace autodist::cli
