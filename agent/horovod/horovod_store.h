// Part of jobs with Horovod programs, whose ranks exchange their addresses through it. The protocol
// is that of horovod/runner/http/http_server.py: PUT, GET and DELETE of /SCOPE/KEY; 404 means that
// the key is not there yet.
#pragma once

namespace autodist::agent {

// `autodist-agent horovod-store ADDRESS PORT`: serves until it is ended. Returns the exit code.
int HorovodStore(int argc, char** argv);

}  // namespace autodist::agent
