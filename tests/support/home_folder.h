// A temporary HOME for one test.
#pragma once

#include <stdlib.h>

#include <string>

#include "support/temp_folder.h"

namespace autodist::test {

class HomeFolder {
 public:
  HomeFolder() { setenv("HOME", path().c_str(), 1); }
  HomeFolder(const HomeFolder&) = delete;
  HomeFolder& operator=(const HomeFolder&) = delete;
  ~HomeFolder() { setenv("HOME", before_.c_str(), 1); }

  const std::string& path() const { return folder_.path(); }

 private:
  const std::string before_ = getenv("HOME") ? getenv("HOME") : "/";
  const TempFolder folder_;
};

}  // namespace autodist::test
