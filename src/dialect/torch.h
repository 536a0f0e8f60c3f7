// What PyTorch's env:// initialisation reads, for dialects that build on it.
#pragma once

#include "dialect/dialect.h"

namespace autodist::dialect {

void SetTorchVariables(const Process& process, const SetVariable& set);

}  // namespace autodist::dialect
