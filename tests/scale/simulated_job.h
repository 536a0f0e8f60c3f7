// A job on simulated nodes: its plan and its connector.
#pragma once

#include <cstdint>
#include <memory>

#include "plan/plan.h"
#include "reach/connector.h"
#include "scale/simulated_nodes.h"

namespace autodist::scale {

// A chief without ranks, and nodes with `ranks` each.
plan::Input JobInput(uint32_t nodes, uint32_t ranks);

// `nodes` must outlive it.
std::shared_ptr<reach::Connector> ConnectorTo(SimulatedNodes& nodes);

}  // namespace autodist::scale
