// Size limits of messages in bytes, for senders and receivers. A larger message is rejected before
// it is parsed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::rpc {

// The size of a message without its payload.
inline constexpr size_t kEnvelope = 64 << 10;

// A key or the name of a barrier.
inline constexpr size_t kMaxNameLength = 4 << 10;

// A value of the job's key/value store; the data that one rank publishes for others; the stacks and
// the flight record of a rank.
inline constexpr size_t kLargestValue = 1 << 20;
inline constexpr size_t kLargestModex = 1 << 20;
inline constexpr size_t kLargestStacks = 1 << 20;
inline constexpr size_t kLargestFlightRecord = 3 << 20;

// A text for users.
inline constexpr size_t kMaxTextLength = 8 << 10;

// The elements of a list that answers one question; the issues of a node and its warnings.
inline constexpr int kMaxListLength = 1'000;
inline constexpr int kMaxIssues = 32;

// A sample of a node, at most ten a second, and within it: a name, a rate, and a counter.
inline constexpr size_t kLargestSample = 192 << 10;
inline constexpr size_t kMaxSampleTextLength = 256;
inline constexpr int kMaxThrottled = 16;  // reasons for one GPU
inline constexpr double kLargestAmount = 1e18;
inline constexpr uint64_t kLargestCount = uint64_t{1} << 62;

// What ranks have left on a node: the processes that it names, and the name of a program.
inline constexpr int kMaxLeftProcesses = 8;
inline constexpr size_t kMaxProgramName = 64;

// Full file systems that a failure names.
inline constexpr int kMaxFullFileSystems = 8;

// A line that a rank writes to AUTODIST_PROGRESS.
inline constexpr size_t kMaxProgressLength = 4 << 10;

// A chunk of a rank's output.
inline constexpr size_t kLargestOutput = 64 << 10;

// The contribution of one node's ranks to a gather, and the sum for all nodes.
inline constexpr size_t kLargestContribution = 4 << 20;
inline constexpr size_t kLargestGather = 32 << 20;

// A chunk of a fetched file; the files of one node, and how many of the files left out it names.
inline constexpr size_t kLargestFetchPiece = 256 << 10;
inline constexpr uint64_t kMaxFetchedFiles = 100'000;
inline constexpr int kMaxLeftOut = 32;

// Responses of an agent, by kind of call.
inline constexpr size_t kLargestPrepared = 2 << 20;   // facts about a node, and its issues
inline constexpr size_t kLargestPortTries = 2 << 20;  // one for each port of another node
inline constexpr size_t kLargestOpenPorts = 16 << 10;
inline constexpr size_t kLargestSyncAnswer = 1 << 20;  // of which a pass has many
inline constexpr size_t kLargestFetched = kLargestFetchPiece + (kMaxLeftOut + 2) * kMaxTextLength;
inline constexpr size_t kLargestEvent = kLargestContribution + kEnvelope;

// Messages from the chief: the result of a gather, or the plan of a node with very long arguments.
inline constexpr size_t kLargestFromChief = kLargestGather + kEnvelope;

// Messages from a rank.
inline constexpr size_t kLargestFromRank = kLargestValue + kEnvelope;

// Between programs of autodist on this machine: the status of a job of thousands of nodes.
inline constexpr size_t kLargestFromHere = 16 << 20;

// The flow-control window of a stream: 4 MiB at a round trip of 200 ms allow 20 MB/s.
inline constexpr int kStreamWindow = 4 << 20;

}  // namespace autodist::rpc
