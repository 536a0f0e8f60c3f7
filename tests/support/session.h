// A separate user session for one test: XDG_RUNTIME_DIR and XDG_STATE_HOME are temporary folders.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>

#include <string>

#include "support/temp_folder.h"

namespace autodist::test {

class Session {
 public:
  Session() {
    mkdir(runtime().c_str(), 0700);
    setenv("XDG_RUNTIME_DIR", runtime().c_str(), 1);
    setenv("XDG_STATE_HOME", state().c_str(), 1);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("XDG_STATE_HOME");
  }

  std::string runtime() const { return folder_.path() + "/run"; }
  std::string sockets() const { return runtime() + "/autodist"; }
  std::string state() const { return folder_.path() + "/state"; }
  std::string records() const { return state() + "/autodist/jobs"; }
  const TempFolder& folder() const { return folder_; }

 private:
  const TempFolder folder_;
};

}  // namespace autodist::test
