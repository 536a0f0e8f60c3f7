// Exit codes of `autodist` itself; any other is that of the job.
#pragma once

namespace autodist {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitTimedOut = 124;  // as timeout(1) has it
inline constexpr int kExitCannotLaunch = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace autodist
