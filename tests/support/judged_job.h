// A running job whose ranks are looked at twice.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "why/diagnosis.h"

namespace autodist::why {

class JudgedJobTest : public testing::Test {
 protected:
  // `silent_ms`: since the last output. `nodes`: what the addresses of the nodes begin with, each
  // of which has a rank.
  explicit JudgedJobTest(int64_t silent_ms = 10'000, std::string nodes = "host")
      : nodes_(std::move(nodes)) {
    known_.now.set_time_ms(1'800'000'000'000);
    known_.now.mutable_job()->set_last_output_ms(known_.now.time_ms() - silent_ms);
  }

  // Adds the next rank with its stacks in both samples.
  v1::RankSnapshot& AddRank(const std::string& earlier, const std::string& now) {
    const auto number = static_cast<uint32_t>(known_.now.ranks_size());
    v1::RankSnapshot& rank = *known_.now.add_ranks();
    rank.set_rank(number);
    rank.set_node(number);
    rank.set_state(v1::RANK_STATE_RUNNING);
    known_.now.add_nodes()->set_address(nodes_ + std::to_string(number + 1));
    for (auto* looks : {&known_.stacks, &known_.stacks_earlier}) {
      v1::WholeStack& stack = looks->emplace_back();
      stack.set_rank(number);
      stack.set_text(looks == &known_.stacks ? now : earlier);
    }
    return rank;
  }

  std::string Says() {
    known_.before = known_.now;
    known_.before->set_time_ms(known_.now.time_ms() - 5'000);
    const v1::JobDiagnosis diagnosis = Judge(known_);
    return (diagnosis.kind() == v1::JobDiagnosis::KIND_ISSUE ? "wrong: " : "") +
           diagnosis.issue().what();
  }

  Known known_;

 private:
  const std::string nodes_;
};

}  // namespace autodist::why
