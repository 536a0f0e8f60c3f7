#include "framework/frameworks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/example_plan.h"

namespace autodist::framework {
namespace {

using testing::HasSubstr;

constexpr v1::ProgramKind kKinds[] = {v1::PROGRAM_KIND_PER_DEVICE, v1::PROGRAM_KIND_PER_NODE,
                                      v1::PROGRAM_KIND_PER_JOB};

TEST(FrameworksTest, InvalidChoicesAreReportedTogether) {
  const auto chosen =
      Choose({"torch", "padle", "jax", "mindspore", "mpi"}, v1::PROGRAM_KIND_PER_NODE);
  EXPECT_EQ(chosen.status().code(), StatusCode::kInvalidArgument);
  const std::string message = Message(chosen.status());
  EXPECT_THAT(message, HasSubstr("there is no framework 'padle'; did you mean 'paddle'?"));
  EXPECT_THAT(message, HasSubstr("'mindspore' is for --per device, not for --per node"));
  EXPECT_THAT(message, HasSubstr("'mindspore' and 'mpi' contradict each other: "));
  EXPECT_THAT(message, HasSubstr("'torch' and 'jax' contradict each other: both open"));
  EXPECT_EQ(
      Message(Choose({"paddle", "tensorflow"}, v1::PROGRAM_KIND_PER_DEVICE).status()),
      "frameworks 'paddle' and 'tensorflow' contradict each other: both have the ranks listen "
      "at the same ports; name the one that the program uses");
}

TEST(FrameworksTest, SomeCanBeCombined) {
  const auto chosen = Choose({"torch", "tensorflow", "torch"}, v1::PROGRAM_KIND_PER_DEVICE);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->size(), 2u);
}

// Calls `look` for each framework and kind of program, on CPUs and on GPUs.
template <typename Look>
void ForEachPlan(Look look) {
  for (const Framework* framework : All()) {
    for (const v1::ProgramKind kind : kKinds) {
      if (framework == &kRanktable || std::ranges::count(framework->kinds, kind) == 0) continue;
      for (const char* spec : {test::kTwoAndOne, test::kTwoTimesTwoGpus}) {
        const auto plan = plan::MakePlan(test::InputFor(spec, {framework->name}, kind));
        ASSERT_TRUE(plan.ok()) << plan.status();
        look(*framework, test::Whole(*plan).nodes(0));
      }
    }
  }
}

bool IsRemoved(const std::string& name, const v1::NodePlan& node) {
  const auto step = std::ranges::find_if(node.environment(), &v1::EnvironmentStep::has_remove);
  return std::ranges::any_of(step->remove().names(), [&](const std::string& pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                  : name == pattern;
  });
}

// Variables of an outer autodist must not reach programs of another framework.
TEST(FrameworksTest, VariablesOfOtherFrameworksAreRemoved) {
  // A user may have set these; no framework interprets them as a launcher.
  const std::vector<std::string> harmless = {"HOROVOD_CONTROLLER",    "HOROVOD_CPU_OPERATIONS",
                                             "PADDLE_DISTRI_BACKEND", "SLURM_JOB_ID",
                                             "CUDA_VISIBLE_DEVICES",  "no_grpc_proxy"};
  int seen = 0;
  ForEachPlan([&](const Framework& framework, const v1::NodePlan& node) {
    for (const auto& variable : node.ranks(0).environment()) {
      ++seen;
      if (std::ranges::count(harmless, variable.name()) > 0) continue;
      EXPECT_TRUE(IsRemoved(variable.name(), node)) << framework.name << ": " << variable.name();
    }
  });
  EXPECT_GT(seen, 100);
}

TEST(FrameworksTest, NoVariableIsSetTwice) {
  ForEachPlan([&](const Framework& framework, const v1::NodePlan& node) {
    std::set<std::string> names;
    for (const auto& variable : node.ranks(0).environment()) {
      EXPECT_TRUE(names.insert(variable.name()).second)
          << framework.name << ": " << variable.name();
    }
  });
}

}  // namespace
}  // namespace autodist::framework
