// Draws a job: a pure function of the snapshot, the history and the view.
#pragma once

#include "autodist/v1/snapshot.pb.h"
#include "top/frame.h"
#include "top/view_model.h"

namespace autodist::top {

inline constexpr int kMinColumns = 60;
inline constexpr int kMinRows = 15;

// Draws view.columns × view.rows; a window below the minimum shows only a message. 0 rows: as many
// as needed, without the row of keys. Unknown values are not shown.
Frame Render(const v1::JobSnapshot& snapshot, const v1::History& history, const ViewState& view);

// Shown before the first snapshot.
Frame RenderWaiting(const std::string& job_id, const ViewState& view);

}  // namespace autodist::top
