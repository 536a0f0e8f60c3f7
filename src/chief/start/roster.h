// The nodes of a job as candidates for another attempt, and why some are none. Everything that
// counts nodes asks it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "chief/policy/member_policy.h"
#include "chief/start/starting_job.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class Roster {
 public:
  // `is_prepared`: whether a node is being prepared, and so no attempt can have it yet.
  Roster(const StartingJob& job, std::function<bool(uint32_t node)> is_prepared);

  // The nodes that an attempt would have.
  Choice Choose(Availability at_least) const {
    return ChooseMembers(places_, Candidates(), at_least);
  }
  // Whether there would be enough connected nodes without these, or if also others return.
  bool SufficesWithout(const std::vector<uint32_t>& nodes,
                       Availability at_least = Availability::kConnected) const;
  // The chosen spares keep their places. Returns messages about places that have changed hands, or
  // are empty although there are spares.
  std::vector<std::string> Take(const Choice& choice);
  // Further attempts are made without the node. `why` follows its name: "has a faulty GPU".
  void LeaveOut(uint32_t node, const std::string& why) { left_out_.try_emplace(node, why); }

  bool IsLeftOut(uint32_t node) const { return left_out_.contains(node); }

  Availability Of(uint32_t node) const;
  // "the job needs 2 nodes and has 1"
  static std::string Needs(const Choice& choice);
  // Why there is no attempt: "the job needs 2 nodes and has 1; node2 has a faulty GPU".
  Status NotEnough(const Choice& choice) const;
  // Whether some nodes are spares at the first launch.
  bool has_spares() const { return places_.nodes.size() < job_.nodes.size(); }

 private:
  std::vector<Candidate> Candidates() const;
  const std::string& AddressOf(uint32_t node) const {
    return job_.plan.nodes(static_cast<int>(node)).address();
  }
  std::string WhyMissing(uint32_t node) const;
  std::string WhyEmpty(const Choice& choice) const;

  const StartingJob job_;
  const std::function<bool(uint32_t)> is_prepared_;
  std::vector<Candidate> devices_;  // of each node; availability is unset
  Places places_;
  std::map<uint32_t, std::string> left_out_;  // why, by node
  std::string why_empty_;                     // as last returned by Take
};

}  // namespace autodist::chief
