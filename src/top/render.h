// The picture of a job: a pure function of how it is, how it was, and what one has chosen to see.
#pragma once

#include "autodist/v1/snapshot.pb.h"
#include "top/frame.h"
#include "top/view_state.h"

namespace autodist::top {

inline constexpr int kMinColumns = 60;
inline constexpr int kMinRows = 15;

// Of view.columns × view.rows; smaller than the least it says so. With 0 rows as many as there is
// something for, without the row of keys. What the snapshot does not know is not shown.
Frame Render(const v1::JobSnapshot& snapshot, const v1::History& history, const ViewState& view);

// Before anything is known of the job.
Frame RenderWaiting(const std::string& job_id, const ViewState& view);

}  // namespace autodist::top
