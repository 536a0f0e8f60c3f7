// What `autodist why` shows of a job in tests of clients.
#pragma once

#include "autodist/v1/snapshot.pb.h"

namespace autodist::test {

inline v1::JobDiagnosis ExampleDiagnosis() {
  v1::JobDiagnosis diagnosis;
  diagnosis.set_kind(v1::JobDiagnosis::KIND_ISSUE);
  diagnosis.mutable_issue()->set_what("rank 2 (node1) sleeps in load (train.py:12)");
  v1::Evidence& evidence = *diagnosis.mutable_issue()->add_evidence();
  evidence.set_what("rank 2");
  evidence.set_value("load (train.py:12)");
  evidence.set_source("py-spy");
  return diagnosis;
}

}  // namespace autodist::test
