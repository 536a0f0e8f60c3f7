// The snapshot of a job of two nodes with two ranks each, with most fields set. The second node has
// not answered for a while, and a service process has failed there.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::test {

inline constexpr int64_t kSnapshotTime = 1'700'000'100'000;  // ms since 1970

inline v1::JobSnapshot ExampleSnapshot() {
  v1::JobSnapshot snapshot;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        version: 7
        time_ms: 1700000100000
        sample_ms: 2000
        job {
          job_id: "1123-141500-7a3c"
          phase: JOB_PHASE_RUNNING
          chief_pid: 4711
          started_ms: 1700000000000
          command: [ "python", "train.py", "--note=a \"b\"\\\n" ]
          log_folder: "/home/ada/autodist-runs/1123-141500-7a3c"
          attempt: 1
          max_restarts: 3
          world_size: 4
          host: "node1"
          name: "sweep-3"
          last_output_ms: 1700000099500
        }
        progress {
          step: 1200
          total: 5000
          rate: 2.5
          eta: 1520
          metrics { name: "loss" value: 0.25 }
          metrics { name: "loss" value: 0.5 }
          metrics { name: "grad norm" value: nan }
          what: "epoch 1"
          source: "bar"
          time_ms: 1700000099000
        }
        nodes {
          address: "10.0.0.1"
          phase: NODE_PHASE_RUNNING
          last_contact_ms: 1700000099000
          ranks: [ 0, 1 ]
          sample {
            host {
              cpu: 0.5
              cores: 64
              memory_used: 68719476736
              memory_total: 137438953472
              cpu_pressure: 0.01
              io_pressure: 0.125
              disk_read: 1048576
              disk_write: 0
              disk_free: 1099511627776
              disk_total: 2199023255552
            }
            interfaces {
              name: "eth0"
              received: 1500
              sent: 2500.5
              errors: 3
              dropped: 0
              speed: 25000000000
            }
            interfaces { name: "eth0" received: 1 }
            infinibands { name: "mlx5_0:1" received: 1e10 sent: 2e10 errors: 0 active: true }
            gpus {
              index: 0
              uuid: "GPU-0a"
              use: 0.98
              memory_used: 42949672960
              memory_total: 85899345920
              power: 650.5
              power_limit: 700
              temperature: 61
              clock: 1005
              clock_limit: 1980
              throttled: "HW power brake"
              ecc_errors: 2
              faults: "needs a recovery action: Reset"
              xid: 79
            }
            gpus { index: 1 uuid: "GPU-0b" use: 0 memory_used: 7 memory_total: 0 }
          }
        }
        nodes {
          address: "10.0.0.2"
          phase: NODE_PHASE_RECONNECTING
          last_contact_ms: 1700000070000
          ranks: [ 2, 3 ]
          sample {
            host { cpu: 0.75 cores: 64 }
            gpus { index: 0 uuid: "GPU-1a" use: 1 }
          }
        }
        ranks {
          rank: 0
          node: 0
          gpus: 0
          state: RANK_STATE_RUNNING
          sample {
            rank: 0
            cpu: 1.5
            memory: 2147483648
            processes: 5
            threads: 40
            state: "R"
            read: 1000000
            written: 250000
            silent_ms: 700
          }
          progress { step: 1200 rate: 2.5 }
          last_output_ms: 1700000099500
        }
        ranks {
          rank: 1
          node: 0
          gpus: 1
          state: RANK_STATE_RUNNING
          sample { rank: 1 silent_ms: 12500 }
        }
        ranks {
          rank: 2
          node: 1
          gpus: 0
          state: RANK_STATE_DISCONNECTED
          sample { rank: 2 cpu: 1 threads: 9 }
          progress { step: 1180 }
          last_output_ms: 1700000069000
        }
        ranks {
          rank: 3
          node: 1
          state: RANK_STATE_FAILED
          sample { rank: 3 cpu: 1 }
        }
        ranks { rank: 4 node: 1 auxiliary: true name: "the scheduler" state: RANK_STATE_FAILED }
        goodput_parts { start_up: 12000 training: 75000 stalled: 8000 restarting: 5000 }
        issues {
          kind: KIND_DISCONNECTED
          nodes: 1
          ranks: [ 2, 3, 77 ]
          what: "10.0.0.2 does not answer"
        }
        issues { kind: KIND_SLOW ranks: 0 what: "rank 0 is slow" }
      )pb",
      &snapshot));
  return snapshot;
}

}  // namespace autodist::test
