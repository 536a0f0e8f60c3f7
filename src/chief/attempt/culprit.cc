#include "chief/attempt/culprit.h"

#include "chief/output/peer_complaints.h"

namespace autodist::chief {
const RankFailure* Culprit(uint32_t rank, const FatalMessage& complaint,
                           const std::vector<RankFailure>& failures) {
  if (!BlamesPeer(complaint.text)) return nullptr;
  const RankFailure* first = nullptr;
  for (const RankFailure& failure : failures) {
    if (failure.rank == rank || failure.message.time > complaint.time ||
        BlamesPeer(failure.message.text))
      continue;
    if (!first || failure.message.time < first->message.time) first = &failure;
  }
  return first;
}

}  // namespace autodist::chief
