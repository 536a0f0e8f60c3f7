// Exit codes of `autodist` itself; any other exit code is the job's.
#pragma once

namespace autodist {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitFutile = 123;    // another attempt could hardly succeed
inline constexpr int kExitTimedOut = 124;  // as timeout(1) does
inline constexpr int kExitCannotLaunch = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace autodist
