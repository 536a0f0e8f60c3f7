// A link to a node without work for Prepare or the doctor: for tests of session messages.
#pragma once

#include "launch/node_link.h"

namespace autodist::test {

class IdleLink : public launch::NodeLink {
 public:
  Status Sync(transfer::FolderSync&, uint32_t, const std::stop_token&) override {
    return OkStatus();
  }
  Result<v1::PrepareResponse> Prepare(const v1::PrepareRequest&, base::Deadline,
                                      const std::stop_token&) override {
    return v1::PrepareResponse();
  }
  void PrepareLater(v1::PrepareRequest, base::Deadline, const std::stop_token&,
                    Prepared done) override {
    done(v1::PrepareResponse());
  }
  Result<v1::OpenPortsResponse> OpenPorts(const v1::OpenPortsRequest&, base::Deadline,
                                          const std::stop_token&) override {
    return v1::OpenPortsResponse();
  }
  Result<v1::TryPortsResponse> TryPorts(const v1::TryPortsRequest&, base::Deadline,
                                        const std::stop_token&) override {
    return v1::TryPortsResponse();
  }
  transfer::FetchedFiles Fetch(const transfer::FetchOrder&, transfer::FetchedFolder&,
                               const std::stop_token&) override {
    return {};
  }
};

}  // namespace autodist::test
