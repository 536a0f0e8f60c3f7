// The licences of all components that are linked into the programs, from setup/licenses.py.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace autodist::cli {

// One file, "licenses.txt".
std::span<const base::EmbeddedFile> LicenseTexts();

}  // namespace autodist::cli
