// Limits of the size of messages, in bytes: what one side sends, the other has to take. Whatever is
// larger is refused before it is parsed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::rpc {

// What a message is besides the bytes that it carries.
inline constexpr size_t kEnvelope = 64 << 10;

// A key or the name of a barrier.
inline constexpr size_t kMaxNameLength = 4 << 10;

// A value of the job's key/value store; what one rank publishes for others; what the agent tells
// of what a rank is doing, and with it.
inline constexpr size_t kLargestValue = 1 << 20;
inline constexpr size_t kLargestModex = 1 << 20;
inline constexpr size_t kLargestStacks = 1 << 20;
inline constexpr size_t kLargestFlightRecord = 3 << 20;

// What one string may have that people are to read.
inline constexpr size_t kMaxTextLength = 8 << 10;

// The elements of a list, one for each question apart; the issues of a node and its warnings.
inline constexpr int kMaxListLength = 1'000;
inline constexpr int kMaxIssues = 32;

// A sample of a node, of which one comes every tenth of a second at most. In it: the bytes of a
// name, amounts per second, and counts since something is there.
inline constexpr size_t kLargestSample = 192 << 10;
inline constexpr size_t kMaxSampleTextLength = 256;
inline constexpr int kMaxThrottled = 16;  // reasons for one GPU
inline constexpr double kLargestAmount = 1e18;
inline constexpr uint64_t kLargestCount = uint64_t{1} << 62;

// A line that a rank writes to AUTODIST_PROGRESS.
inline constexpr size_t kMaxProgressLength = 4 << 10;

// A piece of what a rank writes.
inline constexpr size_t kLargestOutput = 64 << 10;

// What the ranks of one node contribute to a gather, and what all nodes do together.
inline constexpr size_t kLargestContribution = 4 << 20;
inline constexpr size_t kLargestGather = 32 << 20;

// A piece of a file that is fetched; files of one node, and what of them it tells apart from them.
inline constexpr size_t kLargestFetchPiece = 256 << 10;
inline constexpr uint64_t kMaxFetchedFiles = 100'000;
inline constexpr int kMaxLeftOut = 32;

// From an agent, by kind of call.
inline constexpr size_t kLargestPrepared = 2 << 20;   // facts about a node, and issues there
inline constexpr size_t kLargestPortTries = 2 << 20;  // one for each other node's ports
inline constexpr size_t kLargestOpenPorts = 16 << 10;
inline constexpr size_t kLargestSyncAnswer = 1 << 20;  // of which there are many
inline constexpr size_t kLargestFetched = kLargestFetchPiece + (kMaxLeftOut + 2) * kMaxTextLength;
inline constexpr size_t kLargestEvent = kLargestContribution + kEnvelope;

// From the chief: what a gather has brought, or the plan of a node with very long arguments.
inline constexpr size_t kLargestFromChief = kLargestGather + kEnvelope;

// From a rank.
inline constexpr size_t kLargestFromRank = kLargestValue + kEnvelope;

// Between programs of autodist on this machine: the status of a job of thousands of nodes.
inline constexpr size_t kLargestFromHere = 16 << 20;

// Bytes of a stream that may be on their way: 4 MiB in 200 ms are 20 MB/s.
inline constexpr int kStreamWindow = 4 << 20;

}  // namespace autodist::rpc
