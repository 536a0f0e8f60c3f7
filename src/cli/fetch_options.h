// What is fetched from nodes, by `autodist fetch` and `run --fetch`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/app.h"

namespace autodist::cli {

// A pattern that stays within the working directory.
CLI::Validator FilePattern();

// Without a group of its own where `group` is empty.
void AddMaxSize(CLI::App& app, uint64_t& bytes, const std::string& whose, const std::string& group);

}  // namespace autodist::cli
